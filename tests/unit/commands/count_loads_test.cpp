#include "src/commands/count_loads.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "loads/cpu/cpu_load.h"

using namespace gradsync;

namespace {

BenchPlan small_plan() {
  BenchPlan plan{.sizes = {{70'000, 1}}, .library = &cpu_load_library(), .repeats = 3};
  for (const LoadEntry& entry : cpu_loads())
    if (entry.algorithm == "scatter") plan.loads.push_back(entry);
  plan.options.threads = 2;
  return plan;
}

const Coverage& counters_of(const Report& report) {
  return *std::find_if(report.coverage.begin(), report.coverage.end(),
                       [](const Coverage& entry) { return entry.source == "hardware counters"; });
}

}  // namespace

TEST_CASE("each timed call of a load is counted, with software clocks where there is no PMU") {
  Result<LoadCounters> counters = LoadCounters::open(usual_counters());
  REQUIRE(counters);
  BenchPlan plan = small_plan();
  int calls = 0;
  plan.around = [&](const LoadCall& call, const std::function<void()>& run) {
    CHECK(call.algorithm == "scatter");
    CHECK(call.elements == 70'000);
    ++calls;
    counters->around(call, run);
  };
  const Result<BenchResult> result = measure_loads(plan);
  REQUIRE(result);
  CHECK(calls == 6);

  Report report;
  counters->add_to(report, plan, *result);
  const Coverage& told = counters_of(report);
  if (!report.series.contains("load_counters")) {
    MESSAGE("skipped: nothing can be counted here: " << told.reason);
    return;
  }
  const Series& series = report.series.at("load_counters");
  const bool hardware = told.state != CoverageState::unavailable;
  for (const auto& row : series.rows) {
    CHECK(std::get<std::string>(row[0]) == "scatter");
    if (!hardware) CHECK(std::get<std::string>(row[4]) != "cycles");
  }
  const auto clock = std::find_if(series.rows.begin(), series.rows.end(),
                                  [](const auto& row) { return std::get<std::string>(row[4]) == "task-clock"; });
  if (!hardware) {
    CHECK(told.reason.ends_with("; software clocks instead"));
    CHECK(report.metrics.empty());  // nothing is said about caches
    REQUIRE(clock != series.rows.end());
    CHECK(std::get<std::int64_t>((*clock)[8]) == 3);
    CHECK(std::get<double>((*clock)[6]) > 0);
  }
}

TEST_CASE("software events by name are counted with and without a PMU") {
  Result<LoadCounters> counters = LoadCounters::open({"task-clock", "page-faults"});
  REQUIRE(counters);
  const LoadCall call{"scatter", 10, LoadHalf::decompress};
  int ran = 0;
  counters->around(call, [&] { ++ran; });
  CHECK(ran == 1);
}

TEST_CASE("a name that stands for nothing is an error that names it") {
  const Result<LoadCounters> counters = LoadCounters::open({"cycles", "no-such-event"});
  REQUIRE_FALSE(counters);
  CHECK(counters.error().on == "no-such-event");
}
