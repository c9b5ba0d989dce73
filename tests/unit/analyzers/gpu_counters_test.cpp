#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

constexpr const char* kMemory = "dram__throughput.avg.pct_of_peak_sustained_elapsed";

// Twelve steps of 100 us; in steps 5 to 7, which take ten times as long, two kernels were counted.
std::string job() {
  std::string text =
      "process host=n pid=1\n"
      "fact rank=0 counters=collected counters.metrics=gpu__time_duration.sum,dram__bytes.sum," +
      std::string(kMemory) + ",no__such.sum\n";
  int at = 0;
  for (int step = 0; step < 12; ++step) {
    const bool counted = step >= 5 && step <= 7;
    const int end = at + (counted ? 1000 : 100);
    text += "step " + std::to_string(step) + " " + std::to_string(at) + ".." + std::to_string(end) +
            (counted ? " counters=1" : "") + "\n";
    if (counted) {
      const std::string when = std::to_string(at + 10) + ".." + std::to_string(at + 10) + " source=cupti lane=1 ";
      text +=
          "mark gpu_counters " + when + "gpu__time_duration.sum=1000000 dram__bytes.sum=4000 " + kMemory + "=80000\n";
      text +=
          "mark gpu_counters " + when + "gpu__time_duration.sum=3000000 dram__bytes.sum=6000 " + kMemory + "=40000\n";
    }
    at = end;
  }
  return text;
}

}  // namespace

TEST_CASE("a share is weighted by the kernels' time, a sum is added up, of each counted step") {
  const Conclusions found = test::analyze(job());
  const Metric* share = found.metrics.find("gpu.counters." + std::string(kMemory), "all");
  REQUIRE(share != nullptr);
  CHECK(share->value == doctest::Approx((80.0 * 1 + 40.0 * 3) / 4));
  CHECK(share->n == 3);
  CHECK(share->source == "cupti");
  CHECK(*found.metrics.value("gpu.counters.dram__bytes.sum", "rank:0") == doctest::Approx(10));
  CHECK(*found.metrics.value("gpu.counters.gpu__time_duration.sum", "all") == doctest::Approx(4000));
  CHECK_FALSE(found.metrics.value("gpu.counters.no__such.sum", "all"));
  CHECK(found.facts.at("counters.of").find("2 kernels") == 0);
}

TEST_CASE("steps in which counters are read count in no timing") {
  const Conclusions found = test::analyze(job());
  CHECK(*found.metrics.value("step.time_ms", "all") == doctest::Approx(0.1));
  CHECK(found.metrics.find("step.time_ms", "all")->p90 == doctest::Approx(0.1));
  CHECK(*found.metrics.value("step.count", "rank:0") == 6);  // 12 less 3 of warm-up, less these 3
  CHECK(found.facts.at("steps.warm_up").find("3 steps") == 0);
  CHECK_FALSE(found.metrics.value("window.inflation_percent", "all"));
}

TEST_CASE("without counters there is nothing") {
  std::string text = job();
  for (std::size_t at = text.find("counters.metrics"); at != std::string::npos; at = text.find("counters.metrics"))
    text.replace(at, 16, "x");
  const Conclusions found = test::analyze(text);
  CHECK_FALSE(found.metrics.value("gpu.counters.dram__bytes.sum", "all"));
  CHECK_FALSE(found.facts.contains("counters.of"));
}
