// How the job was set up: what its ranks told, joined, and what steps show of it.
#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

constexpr const char* kStep = "range forward @0..@300\nrange backward @300..@800 compute_end_us=@700\n";

std::string rank(int number, const std::string& facts, const std::string& step = kStep, const char* host = "n") {
  return std::string("process host=") + host + " pid=" + std::to_string(number + 1) +
         " clean=1\nfact rank=" + std::to_string(number) + " world_size=2 framework=ddp " + facts + "\n" +
         repeat_step(20, 1000, step);
}

}  // namespace

TEST_CASE("variables: what is set, what is not, and nothing where no rank told its environment") {
  const Conclusions found = analyze(rank(0, "env.seen=yes env.nccl_ib_disable=1 backend=nccl") +
                                    rank(1, "env.seen=yes env.nccl_ib_disable=1 env.nccl_algo=Ring backend=nccl"));
  CHECK(found.facts.at("env.nccl_ib_disable") == "1");
  CHECK(found.facts.at("env.nccl_algo") == "mixed: Ring, unset");
  CHECK(found.facts.at("env.nccl_proto") == "unset");
  CHECK(found.facts.at("configuration.nccl_choice") == "fixed");
  const Conclusions files = analyze(rank(0, "env.seen=yes extensions.stale=yes extensions.stale.names=fused") +
                                    rank(1, "env.seen=yes env.files=\"NCCL_ALGO of /etc/nccl.conf\""));
  CHECK(files.facts.at("env.files") == "NCCL_ALGO of /etc/nccl.conf");
  CHECK(files.facts.at("extensions.stale.names") == "fused");
  CHECK(analyze(rank(0, "env.seen=yes")).facts.at("configuration.nccl_choice") == "NCCL's");
  CHECK_FALSE(analyze(rank(0, "")).facts.contains("env.nccl_ib_disable"));
}

TEST_CASE("the interface of the backend in use") {
  const auto kind = [](const std::string& facts) {
    return analyze(rank(0, "env.seen=yes " + facts)).facts.at("configuration.socket_interface");
  };
  CHECK(kind("backend=nccl") == "unset");
  CHECK(kind("backend=nccl env.nccl_socket_ifname=eth0") == "chosen");
  CHECK(kind("backend=nccl env.nccl_socket_ifname=^lo,docker0") == "chosen");
  CHECK(kind("backend=nccl env.nccl_socket_ifname=docker0") == "virtual");
  CHECK(kind("backend=nccl env.nccl_socket_ifname==lo") == "loopback");
  CHECK(kind("backend=gloo env.nccl_socket_ifname=lo") == "unset");
  CHECK(kind("backend=gloo env.gloo_socket_ifname=lo") == "loopback");
}

TEST_CASE("arguments of the wrapper and its buckets") {
  const Conclusions found =
      analyze(rank(0, "ddp.static_graph=false ddp.find_unused_parameters=true ddp.bucket_bytes=1000,3000"));
  CHECK(found.facts.at("ddp.find_unused_parameters") == "true");
  CHECK(*found.metrics.value("ddp.largest_bucket_bytes", "all") == 3000);
  CHECK(*found.metrics.value("ddp.largest_bucket_percent", "all") == doctest::Approx(75));
  CHECK_FALSE(found.facts.contains("ddp.gradient_as_bucket_view"));
}

TEST_CASE("two ranks on one device, of one host only") {
  const auto sharing = [](const char* first, const char* second, const char* host) {
    return *analyze(rank(0, std::string("device.visible=") + first) +
                    rank(1, std::string("device.visible=") + second, kStep, host))
                .metrics.value("run.ranks_sharing_device", "all");
  };
  CHECK(sharing("0", "1", "n") == 0);
  CHECK(sharing("0", "0", "n") == 1);
  CHECK(sharing("0", "0", "m") == 0);
  CHECK_FALSE(analyze(rank(0, "device.visible=0")).metrics.value("run.ranks_sharing_device", "all"));
  CHECK(*analyze(rank(0, "") + rank(1, "", kStep, "m")).metrics.value("run.hosts", "all") == 2);
}

TEST_CASE("an accumulation synchronises in every micro-batch, or in the last one") {
  const std::string each =
      "range forward @0..@100\nrange backward @100..@300\nrange forward @300..@400\nrange backward @400..@600\n";
  const std::string last =
      "range forward @0..@100 ddp_sync=0\nrange backward @100..@300\nrange forward @300..@400\n"
      "range backward @400..@600\n";
  const Conclusions careless = analyze(rank(0, "", each)), careful = analyze(rank(0, "", last));
  CHECK(*careless.metrics.value("ddp.backwards_per_step", "all") == 2);
  CHECK(*careless.metrics.value("ddp.synchronised_backwards_per_step", "all") == 2);
  CHECK(*careful.metrics.value("ddp.backwards_per_step", "all") == 2);
  CHECK(*careful.metrics.value("ddp.synchronised_backwards_per_step", "all") == 1);
  CHECK_FALSE(analyze(rank(0, "", "range forward @0..@300\n")).metrics.value("ddp.backwards_per_step", "all"));
}

TEST_CASE("files that hold some of the ranks") {
  Inputs files;
  files.origin = Origin::files;
  CHECK(*analyze(rank(0, ""), files).metrics.value("run.ranks_missing", "all") == 1);
  CHECK(*analyze(rank(0, "") + rank(1, ""), files).metrics.value("run.ranks_missing", "all") == 0);
}
