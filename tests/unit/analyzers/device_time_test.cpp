#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;

namespace {

double value(const Conclusions& found, const char* name) {
  const auto metric = found.metrics.value(name, "rank:0");
  REQUIRE_MESSAGE(metric.has_value(), name);
  return *metric;
}

const std::string kHead = "process host=n pid=1\nfact rank=0 device=cuda\n";

}  // namespace

TEST_CASE("intervals are united, never summed: kernels side by side are busy once") {
  const Conclusions found = analyze(kHead +
                                    "kernel a 100..300 stream=7 source=profiler\n"
                                    "kernel b 200..400 stream=8 source=profiler\n"
                                    "collective all_reduce 350..600 stream=9 source=profiler\n"
                                    "copy c 590..650 stream=10 source=profiler\n"
                                    "memset d 900..1000 stream=7 source=profiler\n"
                                    "host_call launch 0..5000 source=profiler\n");
  CHECK(value(found, "gpu.span_us") == doctest::Approx(900));         // 100 … 1000
  CHECK(value(found, "gpu.idle_us") == doctest::Approx(250));         // 650 … 900
  CHECK(value(found, "gpu.compute_us") == doctest::Approx(300));      // 100 … 400
  CHECK(value(found, "gpu.non_compute_us") == doctest::Approx(350));  // 400 … 650 and 900 … 1000
  CHECK(value(found, "gpu.comm_us") == doctest::Approx(250));
  CHECK(value(found, "gpu.comm_overlap_percent") == doctest::Approx(20));  // 350 … 400 of 250
  CHECK_FALSE(found.facts.contains("communication"));
}

TEST_CASE("no collective: no overlap, rather than 0 %") {
  const Conclusions found = analyze(kHead + "kernel a 100..300 stream=7 source=profiler\n");
  CHECK(value(found, "gpu.idle_us") == 0);
  CHECK_FALSE(found.metrics.value("gpu.comm_overlap_percent", "rank:0").has_value());
  CHECK(found.facts.at("communication") == "none seen");
}

TEST_CASE("nothing on a device, or the deep window of a job: nothing is said about the whole file") {
  CHECK_FALSE(analyze(kHead + "host_call launch 0..10 source=profiler\n").metrics.value("gpu.span_us", "rank:0"));
  CHECK_FALSE(analyze(kHead + "step 0 0..1000 deep=1\nkernel a 100..300 stream=7 source=profiler\n")
                  .metrics.value("gpu.span_us", "rank:0"));
}
