// The doctor's own errors as part of every interval that whatif shows.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyzers/predict/track_record.h"
#include "src/commands/track_record.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

Metric* metric_of(Report& report, const std::string& name) {
  for (Metric& metric : report.metrics)
    if (metric.name == name && metric.scope == "all") return &metric;
  return nullptr;
}

void set(Series& series, std::size_t row, std::string_view column, Cell value) {
  const auto found = std::find(series.columns.begin(), series.columns.end(), column);
  const auto at = static_cast<std::size_t>(found - series.columns.begin());
  if (at < series.rows[row].size()) series.rows[row][at] = std::move(value);
}

std::string told(const std::map<std::string, std::vector<double>>& errors) {
  std::string text;
  for (const auto& [change, own] : errors)
    if (own.size() >= kFewestRecorded)
      text += fmt::format("{}: at least {:.1f} % of the step to both sides, by {} measured changes kept here; ", change,
                          100 * error_share(own), own.size());
  std::string fewer;
  for (const auto& [change, own] : errors)
    if (own.size() < kFewestRecorded) fewer += fmt::format("{}{} {}", fewer.empty() ? "" : ", ", change, own.size());
  return fmt::format(
      "{}{}at least {:.0f} % of the step to both sides: fewer than {} measured changes are kept here ({})", text,
      text.empty() ? "" : "others: ", 100 * kPriorErrorShare, kFewestRecorded, fewer.empty() ? "none" : fewer);
}

}  // namespace

void widen_by(const TrackRecord& record, Report& report) {
  if (!record.problem.empty())
    report.coverage.push_back({"track record", "", CoverageState::unavailable, record.problem, "", 0});
  else if (record.unreadable > 0)
    report.coverage.push_back({"track record", "", CoverageState::partial,
                               fmt::format("{} lines of it cannot be read", record.unreadable), "", 0});
  const Metric* step = metric_of(report, "step.time_ms");
  const auto table = report.series.find("whatif");
  if (step == nullptr || table == report.series.end()) return;
  std::map<std::string, std::vector<double>> errors;
  for (const TriedChange& change : record.changes) errors[change.change].push_back(change.error_share());
  bool any = false;
  for (std::size_t i = 0; i < table->second.rows.size(); ++i) {
    const SeriesRow row(table->second, table->second.rows[i]);
    if (row.text("kind") != "predicted") continue;
    any = true;
    const std::string remedy = row.text("remedy");
    const double middle = row.number("p50").value_or(0);
    const Prediction before{row.number("p05").value_or(middle), middle, row.number("p95").value_or(middle),
                            row.number("probability").value_or(0), row.number("cap").value_or(step->value)};
    const auto own = errors.find(remedy);
    const double share = error_share(own == errors.end() ? std::span<const double>() : own->second);
    const double longer = std::max(step->value, step->value - middle);  // as the record counts
    const Prediction wide = widened(before, share * longer);
    set(table->second, i, "p05", wide.p05);
    set(table->second, i, "p95", wide.p95);
    set(table->second, i, "probability", wide.probability);
    set(table->second, i, "worth_trying", std::string(worth_trying(wide, step->value) ? "yes" : "no"));
    if (Metric* saved = metric_of(report, "predict." + remedy + ".saved_ms")) {
      saved->p10 = wide.p05;
      saved->p90 = wide.p95;
    }
    if (Metric* probability = metric_of(report, "predict." + remedy + ".probability"))
      probability->value = wide.probability;
  }
  if (any) report.facts["whatif.record"] = told(errors);
}

}  // namespace gradsync
