// How long each step took, and of what it was made, from the series `steps`:
//   time of each step      a stroke from the shortest to the longest of the ranks; where there are more steps than the
//                          picture has room for, of the neighbours that share a place
//   classes of each step   stacked columns, of one rank; every n-th step where there are more than there is room for
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/parts/step_parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr std::size_t kPlaces = 200, kColumns = 160;
constexpr double kFarthest = 1e15;  // of numbers of steps and ranks: a file may hold anything

struct OneStep {
  const SeriesRow* row;
  std::int64_t rank, step;
  double ms;
  bool other_variant, deep;
};

std::vector<OneStep> steps_of(const std::vector<SeriesRow>& rows) {
  std::vector<OneStep> steps;
  for (const SeriesRow& row : rows) {
    const auto rank = row.number("rank"), step = row.number("step"), ms = row.number("time_ms");
    if (!step || !ms || *ms < 0 || std::abs(*step) > kFarthest || std::abs(rank.value_or(0)) > kFarthest) continue;
    steps.push_back({&row, static_cast<std::int64_t>(rank.value_or(0)), static_cast<std::int64_t>(*step), *ms,
                     row.number("variant").value_or(0) > 0, row.number("deep").value_or(0) > 0});
  }
  return steps;
}

std::string ms_tick(double value) { return format_short(value) + " ms"; }
std::string step_tick(double value) { return fmt::format("{:.0f}", value); }

struct Extent {
  double low = 0, high = 0;
};

void draw_times(const std::vector<OneStep>& steps, Markup& page) {
  const auto [first, last] =
      std::minmax_element(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.step < b.step; });
  const double longest = std::max_element(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.ms < b.ms; })->ms;
  const std::int64_t each = (last->step - first->step) / static_cast<std::int64_t>(kPlaces) + 1;
  std::map<std::pair<bool, std::int64_t>, Extent> extents;
  std::map<std::int64_t, bool> deep;
  for (const OneStep& one : steps) {
    const std::int64_t place = (one.step - first->step) / each;
    const auto [extent, fresh] = extents.try_emplace({one.other_variant, place}, Extent{one.ms, one.ms});
    if (!fresh) extent->second = {std::min(extent->second.low, one.ms), std::max(extent->second.high, one.ms)};
    if (one.deep) deep[place] = true;
  }
  const bool variants = extents.rbegin()->first.first;
  Plot plot(page,
            {"Time of each step", fmt::format("steps {} to {}, up to {}", first->step, last->step, format_ms(longest)),
             each > 1 ? fmt::format("A stroke spans {} steps and all ranks.", each) : "A stroke spans all ranks."},
            {ScaleKind::whole, static_cast<double>(first->step), static_cast<double>(last->step), "step", step_tick},
            {ScaleKind::linear, 0, longest, "", ms_tick});
  const auto x = [&plot, each, from = first->step](std::int64_t place) {
    return plot.x(static_cast<double>(from + place * each));
  };
  std::string path[2], marks;
  for (const auto& [key, extent] : extents)
    path[key.first ? 1 : 0] += move_to(x(key.second), plot.y(extent.low)) + "V" + coordinate(plot.y(extent.high));
  for (const auto& [place, marked] : deep) marks += box_path(x(place) - 2, plot.floor() - 6, 4, 6);
  if (!path[0].empty()) plot.path("range", path[0]);
  if (!path[1].empty()) plot.path("range2", path[1]);
  if (!marks.empty()) plot.path("faintfill", marks);
  std::vector<LegendEntry> legend;
  if (variants) legend = {{"p0", "as the job is"}, {"p1", "with the communication hook left out"}};
  if (!marks.empty()) legend.push_back({"faintfill", "at the bottom: a profiler watched"});
  plot.finish(legend);
}

std::vector<const OneStep*> columns_of(const std::vector<OneStep>& steps, std::int64_t rank) {
  std::vector<const OneStep*> all;
  for (const OneStep& one : steps)
    if (one.rank == rank) all.push_back(&one);
  const std::size_t each = all.size() / kColumns + 1;
  std::vector<const OneStep*> some;
  for (std::size_t i = 0; i < all.size(); i += each) some.push_back(all[i]);
  return some;
}

void draw_classes(const std::vector<OneStep>& steps, const Series& series, Markup& page) {
  const std::int64_t rank = steps.front().rank;
  const std::vector<const OneStep*> columns = columns_of(steps, rank);
  double longest = 0;
  for (const OneStep* one : columns) longest = std::max(longest, one->ms);
  const double count = static_cast<double>(columns.size());
  Plot plot(page,
            {fmt::format("Classes of each step, rank {}", rank),
             fmt::format("{} of {} steps as stacked columns", columns.size(), steps.size()), ""},
            {ScaleKind::linear, 0, count, "", {}}, {ScaleKind::linear, 0, longest, "", ms_tick});
  const double width = std::max(1.0, (plot.right() - plot.left()) / count - 1);
  std::vector<double> bases(columns.size(), 0);
  std::vector<LegendEntry> legend;
  for (const std::string_view name : step_classes()) {
    const std::string column = std::string(name) + "_ms";
    if (std::find(series.columns.begin(), series.columns.end(), column) == series.columns.end()) continue;
    std::string path;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double ms = columns[i]->row->number(column).value_or(0);
      if (!(ms > 0)) continue;
      const double bottom = plot.y(bases[i]), top = plot.y(bases[i] += ms);
      if (bottom - top >= 0.1) path += box_path(plot.x(static_cast<double>(i)), top, width, bottom - top);
    }
    if (path.empty()) continue;
    plot.path(style_of_class(name), path, class_label(name));
    legend.push_back({style_of_class(name), class_label(name)});
  }
  for (std::size_t i = 0; i < columns.size(); i += std::max<std::size_t>(1, columns.size() / 10))
    plot.word(plot.x(static_cast<double>(i)), plot.floor() + 16, fmt::format("{}", columns[i]->step));
  plot.word((plot.left() + plot.right()) / 2, plot.floor() + 36, "step", "mid");
  plot.finish(legend);
}

}  // namespace

void write_steps(const Report& report, Markup& page) {
  const auto series = report.series.find("steps");
  if (series == report.series.end()) return;
  const std::vector<SeriesRow> rows = rows_of(series->second);
  const std::vector<OneStep> steps = steps_of(rows);
  if (steps.empty()) return;
  draw_times(steps, page);
  draw_classes(steps, series->second, page);
}

}  // namespace gradsync
