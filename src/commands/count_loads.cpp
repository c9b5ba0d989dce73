#include "src/commands/count_loads.h"

#include <algorithm>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr const char* kCycles = "cycles";
constexpr const char* kInstructions = "instructions";
constexpr const char* kMisses = "LLC-load-misses";
constexpr const char* kStalls = "stalls";

const char* word_of(LoadHalf half) { return half == LoadHalf::compress ? "compress" : "decompress"; }

bool is_hardware(const PmuEvent& event) { return event.origin != PmuOrigin::software; }

Result<std::vector<PmuEvent>> find_all(const std::vector<std::string>& names) {
  const PmuEvents events;
  std::vector<PmuEvent> found;
  for (const std::string& name : names) {
    const Result<PmuEvent> event = events.find(name);
    if (!event) return event.error();
    found.push_back(*event);
  }
  return found;
}

}  // namespace

std::vector<std::string> usual_counters() { return {kCycles, kInstructions, kMisses, kStalls}; }

Result<LoadCounters> LoadCounters::open(const std::vector<std::string>& names) {
  LoadCounters counters;
  counters.coverage_ = pmu_coverage();
  Result<std::vector<PmuEvent>> events = find_all(names);
  if (!events) return events.error();
  // One line for all of them where there is no PMU, instead of one for each.
  const bool none = counters.coverage_.state == CoverageState::unavailable;
  if (none && std::any_of(events->begin(), events->end(), is_hardware)) {
    std::erase_if(*events, is_hardware);
    if (events->empty()) events = find_all({"task-clock", "page-faults"});
  }
  Result<PmuGroup> group = PmuGroup::open(*events);
  if (!group) {
    counters.coverage_.state = CoverageState::unavailable;
    if (!none) counters.coverage_.reason = group.error().message();
    return counters;
  }
  for (const Error& refused : group->refused()) {
    counters.coverage_.state = CoverageState::partial;
    counters.coverage_.reason += "; " + refused.message();
  }
  counters.group_.emplace(std::move(*group));
  return counters;
}

void LoadCounters::around(const LoadCall& call, const std::function<void()>& run) {
  if (!group_) return run();
  const std::vector<PmuReading> before = group_->read();
  run();
  const std::vector<PmuReading> after = group_->read();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::optional<PmuCount> count = scaled(before[i], after[i]);
    if (!count) continue;
    Sample& sample = samples_[{call.algorithm, call.elements, call.half, group_->events()[i].name}];
    sample.values.push_back(count->value);
    sample.least_running = std::min(sample.least_running, count->running_percent);
  }
}

std::optional<double> LoadCounters::median_of(const BenchRow& row, const std::string& counter) const {
  const auto found = samples_.find(
      {row.algorithm, row.size.elements, row.decodes() ? LoadHalf::decompress : LoadHalf::compress, counter});
  return found == samples_.end() ? std::nullopt : median(found->second.values);
}

// Of the largest size: the one that leaves the caches.
void LoadCounters::add_metrics(Report& report, const BenchPlan& plan, const BenchResult& result) const {
  std::map<std::string, const BenchRow*> largest;
  for (const BenchRow& row : result.rows) {
    const BenchRow*& kept = largest[row.algorithm];
    if (kept == nullptr || kept->size.elements < row.size.elements) kept = &row;
  }
  for (const auto& [algorithm, row] : largest) {
    const auto cycles = median_of(*row, kCycles), instructions = median_of(*row, kInstructions);
    const auto misses = median_of(*row, kMisses), stalls = median_of(*row, kStalls);
    const auto add = [&, &algorithm = algorithm, row = row](const char* name, double value) {
      Metric metric{
          .name = "load." + algorithm + "." + plan.library->device() + "." + name, .value = value, .n = row->ms().n};
      metric.source = "hardware counters";
      report.metrics.push_back(std::move(metric));
    };
    if (misses) add("cache_misses_per_element", *misses / static_cast<double>(row->size.elements));
    if (instructions && cycles && *cycles > 0) add("instructions_per_cycle", *instructions / *cycles);
    if (stalls && cycles && *cycles > 0) add("stalled_percent", 100 * *stalls / *cycles);
  }
}

void LoadCounters::add_to(Report& report, const BenchPlan& plan, const BenchResult& result) const {
  report.coverage.push_back(coverage_);
  if (samples_.empty()) return;
  Series series{"load_counters",
                {"algorithm", "device", "elements", "half", "counter", "p10", "p50", "p90", "n", "running_percent"},
                {}};
  for (const auto& [key, sample] : samples_) {
    const auto& [algorithm, elements, half, counter] = key;
    const Spread seen = *spread(sample.values);
    series.rows.push_back({algorithm, plan.library->device(), elements, std::string(word_of(half)), counter, seen.p10,
                           seen.p50, seen.p90, seen.n, sample.least_running});
  }
  report.series["load_counters"] = std::move(series);
  add_metrics(report, plan, result);
}

}  // namespace gradsync
