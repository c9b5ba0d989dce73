#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Twenty steps of 1 s, in each 1000 bytes handed to an all-reduce of two ranks.
std::string rank_text(int rank, const std::string& host, int space, int world = 2) {
  return fmt::format(
             "process host={} pid={} clean=1\nfact rank={} world_size={} device=cpu framework=ddp hook.kind=custom "
             "ddp.gradient_bytes=1000 net_namespace={}\n",
             host, 100 + rank, rank, world, space) +
         test::repeat_step(
             20, 1'000'000,
             "range backward @100000..@500000\ncollective all_reduce @500000..@600000 hook=1 bytes=1000 dtype=float32");
}

struct Link {
  std::string machine, device;
  std::int64_t space, sent_per_s;
};

// A look each second, each link sends evenly.
Inputs inputs_of(const std::vector<Link>& links) {
  Inputs inputs;
  Series& nic = inputs.series["nic"];
  nic = {"nic", {"machine", "device", "interval_s", "retransmits", "out_segments", "namespace"}, {}};
  Series& samples = inputs.series["nic_samples"];
  samples = {"nic_samples", {"machine", "device", "at_ns", "rx_bytes", "tx_bytes", "namespace"}, {}};
  for (const Link& link : links) {
    nic.rows.push_back({link.machine, link.device, 20.0, std::int64_t{30}, std::int64_t{6000}, link.space});
    for (std::int64_t second = 2; second < 19; ++second)
      samples.rows.push_back(
          {link.machine, link.device, second * kSecond, std::int64_t{0}, second * link.sent_per_s, link.space});
  }
  return inputs;
}

}  // namespace

TEST_CASE("each host's interfaces against its own ranks' steps, and all bytes against all that was handed") {
  const Conclusions found =
      test::analyze(rank_text(0, "a", 1) + rank_text(1, "b", 2),
                    inputs_of({{"a", "eth0", 1, 1100}, {"b", "eth0", 2, 2900}, {"b", "lo", 2, 9000}}));
  const auto value = [&](const char* name, const char* scope) { return found.metrics.value(name, scope).value_or(-1); };
  CHECK(found.facts.at("nic.path") == "interfaces");
  CHECK(value("nic.tx_bytes_per_step", "device:a/eth0") == doctest::Approx(1100));
  CHECK(value("nic.tx_bytes_per_step", "device:b/lo") == doctest::Approx(9000));
  CHECK(value("nic.tx_bytes_per_step", "host:a") == doctest::Approx(1100));
  CHECK(value("nic.tx_bytes_per_step", "host:b") == doctest::Approx(2900));  // loopback is no wire
  CHECK(value("nic.effective_ratio_percent", "host:a") == doctest::Approx(100 / 1.1));
  CHECK(value("nic.effective_ratio_percent", "all") == doctest::Approx(50));
  CHECK(value("nic.retransmit_percent", "device:b/eth0") == doctest::Approx(0.5));
  CHECK(value("nic.retransmit_count", "device:b/eth0") == 30);
}

TEST_CASE("a bond is counted by the interfaces below it") {
  Inputs inputs =
      inputs_of({{"a", "eth0", 1, 500}, {"a", "eth1", 1, 500}, {"a", "bond0", 1, 1000}, {"b", "eth0", 2, 1000}});
  Series& nic = inputs.series["nic"];
  nic.columns.emplace_back("lower");
  for (auto& row : nic.rows) row.emplace_back(std::string(std::get<std::string>(row[1]) == "bond0" ? "eth0,eth1" : ""));
  const Conclusions found = test::analyze(rank_text(0, "a", 1) + rank_text(1, "b", 2), inputs);
  CHECK(*found.metrics.value("nic.tx_bytes_per_step", "device:a/bond0") == doctest::Approx(1000));
  CHECK(*found.metrics.value("nic.tx_bytes_per_step", "host:a") == doctest::Approx(1000));
  CHECK(*found.metrics.value("nic.effective_ratio_percent", "all") == doctest::Approx(100));
}

TEST_CASE("a host that tells no bytes leaves the ratio of all open") {
  const Conclusions found =
      test::analyze(rank_text(0, "a", 1) + rank_text(1, "b", 2), inputs_of({{"a", "eth0", 1, 1100}}));
  CHECK(found.metrics.value("nic.effective_ratio_percent", "host:a"));
  CHECK_FALSE(found.metrics.value("nic.effective_ratio_percent", "all"));
}

TEST_CASE("namespaces of one host: those in which a rank is, and no others") {
  const Conclusions found =
      test::analyze(rank_text(0, "a", 8) + rank_text(1, "a", 9),
                    inputs_of({{"a", "eth0", 7, 50'000}, {"a", "veth0@8", 8, 1000}, {"a", "veth1@9", 9, 1000}}));
  const auto value = [&](const char* name, const char* scope) { return found.metrics.value(name, scope); };
  CHECK(found.facts.at("nic.path") == "interfaces");
  CHECK_FALSE(value("nic.tx_bytes_per_step", "device:eth0"));
  CHECK_FALSE(value("nic.retransmit_count", "device:eth0"));
  CHECK(*value("nic.tx_bytes_per_step", "device:veth0@8") == doctest::Approx(1000));
  CHECK(*value("nic.effective_ratio_percent", "all") == doctest::Approx(100));
}

TEST_CASE("all ranks in one namespace talk over loopback; of a larger job they need not") {
  const std::vector<Link> links{{"a", "lo", 7, 2000}, {"a", "eth0", 7, 500}};
  const Conclusions whole = test::analyze(rank_text(0, "a", 7) + rank_text(1, "a", 7), inputs_of(links));
  CHECK(whole.facts.at("nic.path") == "loopback");
  CHECK(*whole.metrics.value("nic.effective_ratio_percent", "all") == doctest::Approx(100));
  const Conclusions part = test::analyze(rank_text(0, "a", 7, 4) + rank_text(1, "a", 7, 4), inputs_of(links));
  CHECK(part.facts.at("nic.path") == "interfaces");
  CHECK(*part.metrics.value("nic.effective_ratio_percent", "all") == doctest::Approx(400));
}
