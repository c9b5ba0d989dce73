// Counters around the calls of `bench`: what the caches, the pipeline and the clock did meanwhile. Hardware counters where
// this machine has them, else software ones.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collectors/host/pmu_group.h"
#include "src/commands/measure_loads.h"
#include "src/model/report.h"

namespace gradsync {

// cycles, instructions, LLC-load-misses, stalls
std::vector<std::string> usual_counters();

class LoadCounters {
 public:
  // Error: a name that stands for no event here. What is known and cannot be counted becomes coverage.
  static Result<LoadCounters> open(const std::vector<std::string>& names);

  // Runs the call. Calls are counted from this thread on, so this object is made before their threads.
  void around(const LoadCall& call, const std::function<void()>& run);
  // Series `load_counters`, metrics of the algorithms' own halves, coverage.
  void add_to(Report& report, const BenchPlan& plan, const BenchResult& result) const;

 private:
  struct Sample {
    std::vector<double> values;
    double least_running = 100;
  };
  using Key = std::tuple<std::string, std::int64_t, LoadHalf, std::string>;  // algorithm, elements, half, counter
  std::optional<double> median_of(const BenchRow& row, const std::string& counter) const;
  void add_metrics(Report& report, const BenchPlan& plan, const BenchResult& result) const;

  std::optional<PmuGroup> group_;
  Coverage coverage_;
  std::map<Key, Sample> samples_;
};

}  // namespace gradsync
