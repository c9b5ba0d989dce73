// A fabric's curves: time and bandwidth over size on logarithmic axes with p10 and p90, the fit of each segment, and the
// sizes of which something is said; then the table, and what the job and compressors would make of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/report/html/html_canvas.h"
#include "src/report/html/parts.h"
#include "src/report/html/plot.h"
#include "src/report/html/table.h"
#include "src/report/parts/fabric.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kAllColumns = 1000;
constexpr int kFitSteps = 24;  // of a segment's line, which is bent on logarithmic axes

struct Range {
  double low = 0, high = 0;
};

Range range_of(const std::vector<CurvePoint>& points, double CurvePoint::*coordinate) {
  const auto [low, high] = std::minmax_element(points.begin(), points.end(),
                                               [&](auto& a, auto& b) { return a.*coordinate < b.*coordinate; });
  return {(*low).*coordinate, (*high).*coordinate};
}

std::vector<CurvePoint> known(std::vector<CurvePoint> points) {
  std::erase_if(points, [](const CurvePoint& point) { return !(point.x > 0 && point.y > 0); });
  std::stable_sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.x < b.x; });
  return points;
}

std::string line_through(const std::vector<CurvePoint>& points, const Plot& plot) {
  std::string path;
  for (const CurvePoint& point : points)
    path += path.empty() ? move_to(plot.x(point.x), plot.y(point.y)) : line_to(plot.x(point.x), plot.y(point.y));
  return path;
}

void draw_marks(const std::vector<CurveMark>& marks, Plot& plot) {
  for (const CurveMark& mark : marks) {
    const double left = plot.x(std::max(mark.from, 1.0)) - 3, right = plot.x(std::max(mark.to, 1.0)) + 3;
    plot.box("mark", left, plot.top(), right - left, plot.floor() - plot.top(), "cliffs below speak of these sizes");
  }
}

// t = α + bytes × β of each segment, only where the fit is drawn over sizes that were measured.
std::string fit_path(const Report& report, const SweepGroup& group, const Plot& plot) {
  std::string path;
  for (const SeriesRow& row : rows_about(report, "fabric_fit", group)) {
    const auto alpha = row.number("alpha_us"), slope = row.number("us_per_mib"), from = row.number("from_bytes"),
               to = row.number("to_bytes");
    if (!alpha || !slope || !from || !to || *from <= 0 || *to <= *from) continue;
    std::vector<CurvePoint> points;
    for (int i = 0; i <= kFitSteps; ++i) {
      const double bytes = *from * std::pow(*to / *from, static_cast<double>(i) / kFitSteps);
      points.push_back({bytes, *alpha + bytes / 1048576 * *slope});
    }
    path += line_through(known(points), plot);
  }
  return path;
}

Axis size_axis(const Range& sizes) {
  return {ScaleKind::sizes, sizes.low, sizes.high, "bytes of a message", format_bytes};
}

void draw_time(const Report& report, const SweepGroup& group, const std::vector<CurveMark>& marks, Markup& page) {
  const std::vector<CurvePoint> median = known(points_of(group, "p50_us")), low = known(points_of(group, "p10_us")),
                                high = known(points_of(group, "p90_us"));
  if (median.size() < 2 || median.front().x == median.back().x) return;
  const Range sizes = range_of(median, &CurvePoint::x);
  Range times = range_of(median, &CurvePoint::y);
  if (!low.empty()) times.low = std::min(times.low, range_of(low, &CurvePoint::y).low);
  if (!high.empty()) times.high = std::max(times.high, range_of(high, &CurvePoint::y).high);
  Plot plot(page,
            {heading_of(group) + ": time over size",
             fmt::format("from {} at {} to {} at {}", format_value(median.front().y, "us"), format_bytes(sizes.low),
                         format_value(median.back().y, "us"), format_bytes(sizes.high)),
             ""},
            size_axis(sizes), {ScaleKind::logarithmic, times.low, times.high, "", [](double value) {
                                 return format_value(value, "us");
                               }});
  draw_marks(marks, plot);
  if (low.size() == high.size()) {
    std::string spread;
    for (std::size_t i = 0; i < low.size(); ++i)
      spread += move_to(plot.x(low[i].x), plot.y(low[i].y)) + "V" + coordinate(plot.y(high[i].y));
    if (!spread.empty()) plot.path("span", spread);
  }
  const std::string fit = fit_path(report, group, plot);
  if (!fit.empty()) plot.path("fit", fit);
  for (const CurvePoint& point : median)
    plot.dot("p0", plot.x(point.x), plot.y(point.y), format_bytes(point.x) + ": " + format_value(point.y, "us"));
  std::vector<LegendEntry> legend{{"p0", low.empty() ? "median" : "median, p10 to p90"}};
  if (!fit.empty()) legend.push_back({"p1", "fit"});
  if (!marks.empty()) legend.push_back({"mark", "sizes of which something is said below"});
  plot.finish(legend);
}

void draw_bandwidth(const SweepGroup& group, const SweepCurve& curve, Markup& page) {
  const std::vector<CurvePoint> points = known(curve.points);
  if (curve.what != "busbw, GB/s" || points.size() < 2 || points.front().x == points.back().x) return;
  const Range sizes = range_of(points, &CurvePoint::x), bandwidths = range_of(points, &CurvePoint::y);
  Plot plot(page,
            {heading_of(group) + ": bus bandwidth over size",
             fmt::format("at most {} GB/s", format_short(bandwidths.high)), ""},
            size_axis(sizes), {ScaleKind::logarithmic, bandwidths.low, bandwidths.high, "", [](double value) {
                                 return format_short(value) + " GB/s";
                               }});
  draw_marks(curve.marks, plot);
  plot.path("line", line_through(points, plot));
  for (const CurvePoint& point : points)
    plot.dot("p0", plot.x(point.x), plot.y(point.y), format_bytes(point.x) + ": " + format_short(point.y) + " GB/s");
  plot.finish();
}

void write_table(const SweepGroup& group, Markup& page) {
  const SweepLines lines = sweep_lines(group, kAllColumns);
  std::vector<TableColumn> columns;
  for (std::size_t i = 0; i < lines.names.size(); ++i)
    columns.push_back({lines.names[i] + (lines.units[i].empty() ? "" : " " + lines.units[i]), ColumnKind::number});
  Table table(page, heading_of(group), columns);
  for (const std::vector<std::string>& row : lines.rows) table.row(row);
  table.finish();
}

void write_sweep(const Report& report, const SweepGroup& group, Markup& page) {
  const SweepCurve curve = sweep_curve(report, group);
  draw_time(report, group, curve.marks, page);
  draw_bandwidth(group, curve, page);
  HtmlCanvas words(page);
  draw_fit(report, group, words);
  draw_cliffs(report, group, words);
  words.finish();
  page.open("details");
  page.element("summary", {}, heading_of(group) + " as a table");
  write_table(group, page);
  page.close();
}

}  // namespace

void write_fabric(const Report& report, Markup& page) {
  for (const SweepGroup& group : sweep_groups(report)) write_sweep(report, group, page);
  if (const auto job = report.series.find("job_on_fabric"); job != report.series.end()) {
    draw_series_table(page, job->second, "The job on this curve", job->second.columns);
    HtmlCanvas words(page);
    draw_overlay(report, words);
    words.finish();
  }
  if (const auto loads = report.series.find("break_even"); loads != report.series.end())
    draw_series_table(page, loads->second, "Break-even against dense all-reduce here", loads->second.columns);
}

}  // namespace gradsync
