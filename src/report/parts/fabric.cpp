#include "src/report/parts/fabric.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostSweeps = 6;  // in full; -v draws them all
constexpr std::size_t kMostRows = 16;   // of other tables

int width_of(const std::string& text) { return display_width(text); }

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], static_cast<std::size_t>(width_of(line[i])));
  return widths;
}

void draw_columns(const std::vector<std::vector<std::string>>& lines, Canvas& canvas) {
  const std::vector<std::size_t> widths = widths_of(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    canvas.start(1, 3);
    int column = 1;
    for (std::size_t j = 0; j < lines[i].size(); ++j) {
      if (!canvas.narrow()) canvas.tab(column);
      canvas.piece(lines[i][j], i == 0 ? Paint::strong : Paint::plain, 2);
      column += static_cast<int>(widths[j]) + 2;
    }
  }
}

}  // namespace

std::string series_cell(const SeriesRow& row, const std::string& column) {
  const std::string unit = column == "bytes" ? column : unit_of(column);
  if (const auto value = row.number(column)) return no_break(format_value(*value, unit));
  const std::string text = row.text(column);
  return text.empty() ? "-" : no_break(shorten(escape_controls(text), 40, "…"));
}

std::string series_heading(const std::string& column) {
  std::string text = column;
  const std::string unit = unit_of(column);
  if (unit != "1" && text.ends_with("_" + unit)) text.resize(text.size() - unit.size() - 1);
  std::replace(text.begin(), text.end(), '_', ' ');
  return no_break(text);
}

void draw_overlay(const Report& report, Canvas& canvas) {
  std::vector<std::string> parts;
  for (const auto& [name, words] : {std::pair{"startup_messages_percent", " of its messages are mostly start-up"},
                                    {"startup_time_percent", " of their time is in those"},
                                    {"time_ms", " per step is what they cost here"},
                                    {"cliff_ms", " of it is what a cliff costs"}})
    if (const auto found = find_metric(report, std::string("overlay.") + name, "all"); found.metric != nullptr)
      parts.push_back(format_value(found.value, found.metric->unit()) + words);
  canvas.start(1, 3);
  canvas.prose(join(parts, "; "));
  if (const auto bucket = report.facts.find("advice.bucket_cap_mb"); bucket != report.facts.end()) {
    canvas.start(1, 3);
    canvas.prose("Buckets that leave the start-up behind: bucket_cap_mb=" + bucket->second);
  }
}

void draw_series(const Series& series, std::string_view title, Canvas& canvas) {
  if (series.rows.empty() || series.columns.empty()) return;
  const std::vector<SeriesRow> rows = rows_of(series);
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  const std::size_t shown = all ? rows.size() : std::min(rows.size(), kMostRows);
  std::vector<std::vector<std::string>> lines(1);
  std::vector<std::string> filled;
  for (const std::string& column : series.columns)
    if (std::any_of(rows.begin(), rows.end(), [&](const SeriesRow& row) { return series_cell(row, column) != "-"; }))
      filled.push_back(column);
  for (const std::string& column : filled) lines.front().push_back(series_heading(column));
  for (std::size_t i = 0; i < shown; ++i) {
    lines.emplace_back();
    for (const std::string& column : filled) lines.back().push_back(series_cell(rows[i], column));
  }
  canvas.blank();
  canvas.start(0, 2);
  canvas.piece(title, Paint::strong);
  draw_columns(lines, canvas);
  if (shown == rows.size()) return;
  canvas.start(1, 3);
  canvas.piece("and " + plural(static_cast<std::int64_t>(rows.size() - shown), "row") + " more: -v shows them",
               Paint::faint);
}

bool has_sweep(const Report& report) { return !sweep_groups(report).empty(); }

void draw_fabric(const Report& report, Canvas& canvas) {
  const std::vector<SweepGroup> groups = sweep_groups(report);
  const bool all = canvas.options().verbosity == Verbosity::verbose;
  const std::size_t whole = all ? groups.size() : std::min(groups.size(), kMostSweeps);
  for (std::size_t i = 0; i < whole; ++i) {
    canvas.blank();
    draw_sweep_table(report, groups[i], canvas);
    draw_sweep_curve(report, groups[i], canvas);
    draw_fit(report, groups[i], canvas);
    draw_cliffs(report, groups[i], canvas);
  }
  if (whole < groups.size()) {
    canvas.blank();
    canvas.start(0, 2);
    canvas.prose("and " + plural(static_cast<std::int64_t>(groups.size() - whole), "sweep") + " more: -v draws them",
                 Paint::faint);
  }
  if (const auto job = report.series.find("job_on_fabric"); job != report.series.end()) {
    draw_series(job->second, "THE JOB ON THIS CURVE", canvas);
    draw_overlay(report, canvas);
  }
  if (const auto loads = report.series.find("break_even"); loads != report.series.end())
    draw_series(loads->second, "BREAK-EVEN AGAINST DENSE ALL-REDUCE HERE", canvas);
}

}  // namespace gradsync
