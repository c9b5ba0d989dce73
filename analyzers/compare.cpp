#include "analyzers/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyzers/classes.h"
#include "analyzers/rows.h"
#include "src/base/sample_change.h"
#include "src/base/statistics.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kLevel = 0.05;
constexpr std::string_view kStep = "step.time_ms", kExposed = "sync.exposed_ms";
// One number of a whole run: shown beside each other, tested only between sets of runs.
constexpr std::array<std::string_view, 8> kPlain{
    "comm.bytes_per_step",  "comm.collectives_per_step",  "compress.wire_ratio_percent",
    "comm.overlap_percent", "host_sync.count_per_step",   "observer.cost_percent",
    "gpu.sm_clock_hz",      "gpu.clock_throttled_percent"};
constexpr double kMost = 1e15;  // what is beyond is no measurement

bool is_exposed(std::string_view name) {
  return name == "compress" || name == "decompress" || name.starts_with("comm_");
}

// The counted steps of a run in their order, by metric: a step is one observation, the mean over its ranks.
std::map<std::string, std::vector<double>, std::less<>> steps_of(const Report& report) {
  std::map<std::string, StepMeans> means;
  if (const auto found = report.series.find("steps"); found != report.series.end()) {
    const SeriesTable table(found->second);
    for (const auto& row : table.rows()) {
      const auto step = table.number(row, "step"), time = table.number(row, "time_ms");
      if (!step || !time || !(std::abs(*step) < kMost) || !(std::abs(*time) < kMost) ||
          table.number(row, "variant").value_or(0) != 0 || table.number(row, "deep").value_or(0) != 0)
        continue;
      const auto number = static_cast<std::int64_t>(*step);
      means[std::string(kStep)].add(number, *time);
      double exposed = 0;
      for (const std::string& name : kReportClasses) {
        const std::optional<double> ms = table.number(row, name + "_ms");
        if (!ms || !(std::abs(*ms) < kMost)) continue;
        means["attribution." + name + "_ms"].add(number, *ms);
        if (is_exposed(name)) exposed += *ms;
      }
      means[std::string(kExposed)].add(number, exposed);
    }
  }
  std::map<std::string, std::vector<double>, std::less<>> samples;
  // What was not measured is 0 in the table, and of a device the table holds steps in which it was not watched: the
  // metric says which values count.
  for (const auto& [name, values] : means) {
    const Metric* metric = metric_of(report, name);
    std::vector<double> sample = values.sample();
    const bool counts = metric != nullptr && metric->n == static_cast<std::int64_t>(sample.size());
    if (counts || name == kStep) samples[name] = std::move(sample);
  }
  return samples;
}

// Of a metric that devices have and the whole has not, their median.
std::optional<double> value_of(const Report& report, std::string_view name) {
  if (const Metric* metric = metric_of(report, name)) return metric->value;
  std::vector<double> of_devices;
  for (const Metric& metric : report.metrics)
    if (metric.name == name && metric.scope.starts_with("device:") && std::abs(metric.value) < kMost)
      of_devices.push_back(metric.value);
  return median(of_devices);
}

std::vector<double> values_of(const ComparedSet& set, std::string_view name) {
  std::vector<double> values;
  for (const ComparedRun& run : set)
    if (const std::optional<double> value = value_of(run.report, name); value && std::abs(*value) < kMost)
      values.push_back(*value);
  return values;
}

class Comparer {
 public:
  Comparer(const ComparedSet& before, const ComparedSet& after) : before_(before), after_(after) {
    if (one_each()) {
      steps_before_ = steps_of(before.front().report);
      steps_after_ = steps_of(after.front().report);
    }
  }

  bool one_each() const { return before_.size() == 1 && after_.size() == 1; }
  std::size_t block() const { return block_; }

  std::vector<MeasureChange> measures() {
    std::vector<MeasureChange> all{measure(kStep)};
    for (const std::string& name : kReportClasses) add("attribution." + name + "_ms", all);
    add(kExposed, all);
    for (const std::string_view name : kPlain) add(name, all);
    hold_against_each_other(all);
    return all;
  }

 private:
  void add(std::string_view name, std::vector<MeasureChange>& all) {
    const MeasureChange one = measure(name);
    const bool nothing = one.before.value_or(0) == 0 && one.after.value_or(0) == 0;
    if (!nothing) all.push_back(one);
  }

  MeasureChange measure(std::string_view name) {
    const std::vector<double> was = values_of(before_, name), is = values_of(after_, name);
    MeasureChange change{.measure = std::string(name), .before = median(was), .after = median(is)};
    change.before_n = was.size();
    change.after_n = is.size();
    if (change.before && change.after) change.change = *change.after - *change.before;
    if (!change.change) return change;
    if (one_each())
      test_steps(name, change);
    else
      test_runs(was, is, change);
    return change;
  }

  void test_runs(const std::vector<double>& was, const std::vector<double>& is, MeasureChange& change) const {
    change.answer = ChangeAnswer::too_few;
    if (const std::optional<SampleChange> found = sample_change(was, is)) take(*found, change);
  }

  void test_steps(std::string_view name, MeasureChange& change) {
    const auto was = steps_before_.find(name), is = steps_after_.find(name);
    if (was == steps_before_.end() || is == steps_after_.end()) {
      if (name != kStep) return;
      change.answer = ChangeAnswer::too_few;
      change.before_n = was == steps_before_.end() ? 0 : was->second.size();
      change.after_n = is == steps_after_.end() ? 0 : is->second.size();
      return;
    }
    change.before_n = was->second.size();
    change.after_n = is->second.size();
    change.answer = ChangeAnswer::too_few;
    // What is tested is shown: a class that the report scales to its median step may go the other way.
    change.before = median(was->second);
    change.after = median(is->second);
    change.change = *change.after - *change.before;
    const std::optional<RowChange> found = row_change(was->second, is->second);
    if (!found) return;
    take(found->change, change);
    if (name == kStep) block_ = found->block;
  }

  static void take(const SampleChange& found, MeasureChange& change) {
    change.change = found.shift.estimate;
    change.low = found.shift.p05;
    change.high = found.shift.p95;
    change.p = found.p;
  }

  static void hold_against_each_other(std::vector<MeasureChange>& all) {
    std::vector<double> p_values;
    for (std::size_t i = 1; i < all.size(); ++i)
      if (all[i].p) p_values.push_back(*all[i].p);
    const std::vector<double> adjusted = holm_adjusted(p_values);
    std::size_t next = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      MeasureChange& one = all[i];
      if (!one.p) continue;
      if (i > 0) one.p = adjusted[next++];
      const bool shown = *one.p < kLevel && *one.change != 0;
      one.answer = !shown ? ChangeAnswer::not_shown : *one.change > 0 ? ChangeAnswer::rose : ChangeAnswer::fell;
    }
  }

  const ComparedSet &before_, &after_;
  std::map<std::string, std::vector<double>, std::less<>> steps_before_, steps_after_;
  std::size_t block_ = 0;
};

void add_cautions(const ComparedSet& before, const ComparedSet& after, SetComparison& comparison) {
  std::vector<std::string>& told = comparison.cautions;
  if (before.size() == 1 && after.size() == 1)
    told.emplace_back(
        "one run each side: how much two runs of the same job differ is not in the intervals; several "
        "runs a side (from 4 on) would tell");
  else if (std::min(before.size(), after.size()) < kFewestUnits)
    told.push_back(
        "a run is one observation here, and with fewer than 4 runs a side no difference can be shown at 5 %: " +
        std::to_string(before.size()) + " and " + std::to_string(after.size()));
  for (const auto& [side, set] : {std::pair{"A", &before}, {"B", &after}})
    for (const ComparedRun& run : *set) {
      if (comparison.compared == ComparedUnit::steps && !run.report.series.contains("steps"))
        told.push_back(std::string(side) + " " + run.path + " has no table of its steps: only their median is known");
      for (const Attribution& attribution : run.report.attribution)
        if (attribution.scope == "all" && attribution.shares_only)
          told.push_back(std::string(side) + " " + run.path +
                         " knows its classes as shares alone, because watching made its steps longer: only steps are "
                         "compared");
    }
}

}  // namespace

const char* to_string(ChangeAnswer answer) {
  switch (answer) {
    case ChangeAnswer::rose:
      return "rose";
    case ChangeAnswer::fell:
      return "fell";
    case ChangeAnswer::not_shown:
      return "no difference shown";
    case ChangeAnswer::too_few:
      return "too few";
    case ChangeAnswer::not_tested:
      return "not tested";
  }
  return "not tested";
}

const MeasureChange* SetComparison::find(std::string_view measure) const {
  for (const MeasureChange& one : measures)
    if (one.measure == measure) return &one;
  return nullptr;
}

const Metric* metric_of(const Report& report, std::string_view name) {
  for (const Metric& metric : report.metrics)
    if (metric.name == name && metric.scope == "all") return &metric;
  return nullptr;
}

const Metric* step_time_of(const Report& report) {
  const Metric* metric = metric_of(report, kStep);
  return metric != nullptr && metric->value > 0 && metric->value < kMost ? metric : nullptr;
}

SetComparison compare_sets(const ComparedSet& before, const ComparedSet& after) {
  SetComparison comparison;
  Comparer comparer(before, after);
  comparison.compared = comparer.one_each() ? ComparedUnit::steps : ComparedUnit::runs;
  comparison.measures = comparer.measures();
  comparison.block_steps = comparer.block();
  compare_findings(before, after, comparison);
  compare_facts(before, after, comparison);
  add_cautions(before, after, comparison);
  return comparison;
}

}  // namespace gradsync
