// A comparison as tables and numbers of a report.
#include <cmath>
#include <limits>

#include "analyzers/compare.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

Cell cell(const std::optional<double>& value) {
  return value ? Cell(*value) : Cell(std::numeric_limits<double>::quiet_NaN());
}
Cell count(std::size_t value) { return static_cast<std::int64_t>(value); }

Series measure_rows(const SetComparison& comparison) {
  Series series{
      "compare",
      {"measure", "unit", "before_p50", "before_n", "after_p50", "after_n", "change", "low", "high", "p", "verdict"},
      {}};
  for (const MeasureChange& one : comparison.measures)
    series.rows.push_back({one.measure, unit_of(one.measure), cell(one.before), count(one.before_n), cell(one.after),
                           count(one.after_n), cell(one.change), cell(one.low), cell(one.high), cell(one.p),
                           std::string(to_string(one.answer))});
  return series;
}

Series finding_rows(const SetComparison& comparison) {
  Series series{"compare_findings",
                {"rule", "change", "severity", "before_ms", "after_ms", "before_runs", "after_runs", "title"},
                {}};
  for (const FindingChange& one : comparison.findings)
    series.rows.push_back({one.finding.rule, std::string(to_string(one.kind)),
                           std::string(to_string(one.finding.severity)), cell(one.before_ms), cell(one.after_ms),
                           count(one.before_runs), count(one.after_runs), one.finding.title});
  return series;
}

std::string all_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

void add_metrics(const SetComparison& comparison, Report& report) {
  const MeasureChange& step = comparison.step();
  if (!step.change || !step.before) return;
  const auto add = [&](std::string name, double scale) {
    Metric metric{.name = std::move(name), .value = *step.change * scale, .source = "compare"};
    metric.n = static_cast<std::int64_t>(step.before_n + step.after_n);
    if (step.low && step.high) {
      metric.p10 = *step.low * scale;
      metric.p90 = *step.high * scale;
      metric.resolution = (*step.high - *step.low) / 2 * std::abs(scale);
    }
    report.metrics.push_back(metric);
  };
  add("compare.step_change_ms", 1);
  if (*step.before > 0) add("compare.step_change_percent", 100 / *step.before);
  if (step.p) report.metrics.push_back({.name = "compare.step_p", .value = *step.p, .source = "compare"});
}

}  // namespace

void add_comparison(const SetComparison& comparison, Report& report) {
  report.series["compare"] = measure_rows(comparison);
  report.series["compare_findings"] = finding_rows(comparison);
  Series& facts = report.series["compare_facts"];
  facts = {"compare_facts", {"kind", "name", "before", "after"}, {}};
  for (const FactChange& one : comparison.facts) facts.rows.push_back({one.kind, one.name, one.before, one.after});
  add_metrics(comparison, report);
  std::string unit = comparison.compared == ComparedUnit::runs ? "runs" : "steps";
  if (comparison.block_steps > 0) unit = "blocks of " + std::to_string(comparison.block_steps) + " steps";
  report.facts["compare.unit"] = unit;
  if (!comparison.other_job.empty()) report.facts["compare.other_job"] = all_of(comparison.other_job);
  if (!comparison.cautions.empty()) report.facts["compare.cautions"] = all_of(comparison.cautions);
}

}  // namespace gradsync
