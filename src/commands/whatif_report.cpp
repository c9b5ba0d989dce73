#include "src/commands/whatif_report.h"

#include <fmt/format.h>

#include "src/base/units.h"
#include "src/model/series_table.h"
#include "version.h"

namespace gradsync {
namespace {

std::string fact_of(const Report& report, const std::string& name) {
  const auto found = report.facts.find(name);
  return found == report.facts.end() ? "" : found->second;
}

std::string step_text(const Report& job) {
  for (const Metric& metric : job.metrics)
    if (metric.name == "step.time_ms" && metric.scope == "all") return format_ms(metric.value) + " step";
  return "step";
}

Verdict verdict_of(const Report& job) {
  Verdict verdict;
  const std::string why = fact_of(job, "whatif.why"), fabric = fact_of(job, "whatif.fabric");
  if (!why.empty()) {
    verdict.text = "What-if is disabled: " + why + ".";
    return verdict;
  }
  verdict.text = "No remedy is worth trying: none saves 2 % of the step with a probability of 90 %.";
  bool predicted = false;
  for (const SeriesRow& row : rows_of(job, "whatif")) {
    predicted |= row.text("kind") == "predicted";
    if (row.text("worth_trying") != "yes") continue;
    verdict.ms = row.number("p50").value_or(0);
    verdict.p05 = row.number("p05").value_or(verdict.ms);
    verdict.p95 = row.number("p95").value_or(verdict.ms);
    verdict.text =
        fmt::format("{} would save {} of every {} ({} … {}): predicted, not measured.", row.text("remedy"),
                    format_ms(verdict.ms), step_text(job), format_decimal(verdict.p05), format_decimal(verdict.p95));
    return verdict;
  }
  if (!predicted) verdict.text = "Nothing could be predicted: what is missing stands with each remedy.";
  if (!fabric.empty()) verdict.text += " " + fabric + ".";
  return verdict;
}

}  // namespace

Report whatif_report(const Report& job, const TrackRecord& record) {
  Report report;
  report.tool = job.tool;
  report.tool.version = kVersion;
  report.command = "whatif";
  report.run = job.run;
  report.facts = job.facts;
  for (const Coverage& entry : job.coverage)
    if (entry.source != "scheduler" && entry.source != "scheduler delays" && entry.source != "interrupts")
      report.coverage.push_back(entry);
  for (const Metric& metric : job.metrics)
    if (metric.name.starts_with("predict.") || metric.name.starts_with("bound.") || metric.name.starts_with("plan.") ||
        metric.name == "step.time_ms" || metric.name == "step.count")
      report.metrics.push_back(metric);
  for (const char* name : {"whatif", "bucket_plan", "break_even"})
    if (const auto found = job.series.find(name); found != job.series.end()) report.series[name] = found->second;
  widen_by(record, report);
  report.verdict = verdict_of(report);
  return report;
}

}  // namespace gradsync
