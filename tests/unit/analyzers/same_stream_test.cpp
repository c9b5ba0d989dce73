// From PyTorch 2.8 on NCCL runs on the stream that asked for it: communication stands in the row of compute.
#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;

namespace {

// A step of 10 ms: 2 + 3 ms of kernels on stream 7, an all-reduce of 2 ms between them, on `stream`.
std::string job(const std::string& stream) {
  return "process host=n pid=1\nfact rank=0 device=cuda backend=nccl\n" +
         test::repeat_step(5, 10'000,
                           "step {0} @0..@10000 source=profiler\n"
                           "kernel gemm @1000..@3000 stream=7 source=profiler\n"
                           "collective all_reduce @3000..@5000 stream=" +
                               stream +
                               " source=profiler bytes=4194304 group=0\n"
                               "kernel gemm @" +
                               (stream == "7" ? "5000..@8000" : "3000..@6000") + " stream=7 source=profiler\n");
}

double value(const Conclusions& found, const char* name, const char* scope = "all") {
  const auto metric = found.metrics.value(name, scope);
  REQUIRE_MESSAGE(metric.has_value(), name);
  return *metric;
}

}  // namespace

TEST_CASE("a collective in the compute stream is communication, and all of it is exposed") {
  const Conclusions same = analyze(job("7"));
  CHECK(value(same, "comm.collectives_per_step") == 1);
  CHECK(value(same, "comm.bytes_per_step") == 4194304);
  CHECK(value(same, "comm.total_ms") == doctest::Approx(2));
  CHECK(value(same, "comm.exposed_ms") == doctest::Approx(2));
  CHECK(value(same, "comm.overlap_percent") == 0);
  CHECK(value(same, "attribution.compute_ms") == doctest::Approx(5));
  CHECK(value(same, "attribution.comm_unsplit_ms") == doctest::Approx(2));
  CHECK(value(same, "gpu.comm_overlap_percent", "rank:0") == 0);
  CHECK(same.facts.at("communication.stream") == "compute");
}

TEST_CASE("the same collective on a stream of its own hides behind compute") {
  const Conclusions apart = analyze(job("20"));
  CHECK(value(apart, "comm.exposed_ms") == 0);
  CHECK_FALSE(apart.facts.contains("communication.stream"));
  CHECK(value(apart, "comm.overlap_percent") == doctest::Approx(100));
  CHECK(value(apart, "attribution.compute_ms") == doctest::Approx(5));
  CHECK(value(apart, "gpu.comm_overlap_percent", "rank:0") == doctest::Approx(100));
}

TEST_CASE("the user's own range around the call is no second collective") {
  const Conclusions found = analyze("process host=n pid=1\nfact rank=0 device=cuda backend=nccl\n" +
                                    test::repeat_step(5, 10'000,
                                                      "step {0} @0..@10000 source=profiler\n"
                                                      "collective sync_gradients @500..@900 source=nvtx\n"
                                                      "kernel gemm @1000..@3000 stream=7 source=profiler\n"
                                                      "collective all_reduce @3000..@5000 stream=20 source=profiler "
                                                      "bytes=4194304 group=0\n"));
  CHECK(value(found, "comm.collectives_per_step") == 1);
  CHECK(value(found, "comm.total_ms") == doctest::Approx(2));
}

TEST_CASE("Gloo with tensors of a GPU: the collective runs on the host, and is communication all the same") {
  const std::string gloo = "collective all_reduce @2000..@7000 lane=30 source=profiler bytes=4194304 group=0 seq={0}\n";
  const auto job = [](const std::string& collectives) {
    return analyze("process host=n pid=1\nfact rank=0 device=cuda backend=gloo\n" +
                   test::repeat_step(5, 10'000,
                                     "step {0} @0..@10000 source=profiler\n"
                                     "kernel gemm @1000..@3000 stream=7 source=profiler\n" +
                                         collectives));
  };
  const Conclusions found = job(gloo);
  CHECK(value(found, "comm.exposed_ms") == doctest::Approx(4));
  CHECK(value(found, "comm.total_ms") == doctest::Approx(5));
  CHECK_FALSE(found.facts.contains("communication"));
  // Beside collectives of the device it is another group's: of tensors of the host, which nobody need wait for.
  const Conclusions both =
      job(gloo + "collective all_reduce @3000..@4000 stream=20 source=profiler bytes=4096 group=1\n");
  CHECK(value(both, "comm.exposed_ms") == doctest::Approx(1));
  CHECK(job("").facts.at("communication") == "none seen");
}
