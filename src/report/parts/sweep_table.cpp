// The table that users of nccl-tests know, of one sweep, and the curve below it.
//
//        size      count   type      time       p99   algbw   busbw start-up  #wrong
//         (B) (elements)             (µs)      (µs)  (GB/s)  (GB/s)      (%)
//        1024        256  float      38.2      92.0    0.03    0.03       98       0
//
// A column that no row fills is not drawn; on narrow terminals those that others tell best go first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/fabric.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/sweep_groups.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

enum class Look { bytes, count, word, microseconds, bandwidth, percent };

struct Column {
  std::string_view name, heading, unit;
  Look look = Look::count;
  int width = 0;
  int first_to_go = 0;  // the higher, the sooner it makes room; 0: stays
};

constexpr std::array<Column, 11> kColumns{{{"bytes", "size", "(B)", Look::bytes, 11, 0},
                                           {"count", "count", "(elements)", Look::count, 11, 9},
                                           {"type", "type", "", Look::word, 7, 8},
                                           {"place", "place", "", Look::word, 6, 2},
                                           {"p50_us", "time", "(µs)", Look::microseconds, 9, 0},
                                           {"graph_us", "graph", "(µs)", Look::microseconds, 9, 5},
                                           {"p99_us", "p99", "(µs)", Look::microseconds, 9, 4},
                                           {"algbw_gbytes_per_s", "algbw", "(GB/s)", Look::bandwidth, 8, 7},
                                           {"busbw_gbytes_per_s", "busbw", "(GB/s)", Look::bandwidth, 8, 1},
                                           {"startup_share_percent", "start-up", "(%)", Look::percent, 9, 6},
                                           {"wrong", "#wrong", "", Look::count, 7, 3}}};
constexpr std::string_view kUnknown = "-";
constexpr int kIndent = 1;

std::string cell_text(const Column& column, const SeriesRow& row) {
  if (column.look == Look::word) {
    const std::string text = shorten(escape_controls(row.text(column.name)), column.width - 1, "…");
    return text.empty() ? std::string(kUnknown) : text;
  }
  const std::optional<double> value = row.number(column.name);
  if (!value) return std::string(kUnknown);
  switch (column.look) {
    case Look::microseconds:
      return fmt::format("{:.{}f}", *value, *value < 10 ? 2 : *value < 10000 ? 1 : 0);
    case Look::bandwidth:
      return *value > 0 && *value < 0.01 ? fmt::format("{:.4f}", *value)
             : *value < 1                ? format_short(*value)
                                         : fmt::format("{:.2f}", *value);
    default:
      return fmt::format("{:.0f}", *value);
  }
}

bool is_filled(const Column& column, const SweepGroup& group) {
  return std::any_of(group.rows.begin(), group.rows.end(),
                     [&](const SeriesRow& row) { return cell_text(column, row) != kUnknown; });
}

std::vector<const Column*> columns_for(const SweepGroup& group, int room) {
  std::vector<const Column*> columns;
  for (const Column& column : kColumns)
    if (column.first_to_go == 0 || is_filled(column, group)) columns.push_back(&column);
  const auto width = [&] {
    int sum = kIndent;
    for (const Column* column : columns) sum += column->width;
    return sum;
  };
  while (width() > room) {
    const auto next = std::max_element(columns.begin(), columns.end(),
                                       [](auto* a, auto* b) { return a->first_to_go < b->first_to_go; });
    if ((*next)->first_to_go == 0) break;
    columns.erase(next);
  }
  return columns;
}

}  // namespace

SweepLines sweep_lines(const SweepGroup& group, int room) {
  SweepLines lines;
  const std::vector<const Column*> columns = columns_for(group, room);
  for (const Column* column : columns) {
    lines.names.emplace_back(column->heading);
    lines.units.emplace_back(column->unit);
    lines.widths.push_back(column->width);
  }
  for (const SeriesRow& row : group.rows) {
    lines.rows.emplace_back();
    for (const Column* column : columns) lines.rows.back().push_back(cell_text(*column, row));
  }
  return lines;
}

namespace {

std::string right_aligned(std::string_view text, int width) {
  return std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ') + std::string(text);
}

void draw_line(const std::string& line, Paint paint, Canvas& canvas) {
  canvas.start(kIndent, kIndent);
  canvas.piece(line, paint);
}

void draw_rows(const SweepGroup& group, Canvas& canvas) {
  const SweepLines lines = sweep_lines(group, canvas.width());
  const auto aligned = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += right_aligned(cells[i], lines.widths[i]);
    return line;
  };
  draw_line(aligned(lines.names), Paint::strong, canvas);
  draw_line(aligned(lines.units), Paint::faint, canvas);
  for (std::size_t i = 0; i < lines.rows.size(); ++i)
    draw_line(aligned(lines.rows[i]), group.rows[i].number("wrong").value_or(0) > 0 ? Paint::bad : Paint::plain,
              canvas);
}

}  // namespace

std::vector<CurvePoint> points_of(const SweepGroup& group, std::string_view column) {
  const bool out =
      std::any_of(group.rows.begin(), group.rows.end(), [](auto& row) { return row.text("place") == "out"; });
  std::vector<CurvePoint> points;
  for (const SeriesRow& row : group.rows)
    if (const auto y = row.number(column); y && !(out && row.text("place") == "in"))
      points.push_back({row.number("bytes").value_or(0), *y});
  return points;
}

namespace {

// A drop lies between from_bytes and to_bytes and lasts until until_bytes; other answers speak of all sizes between.
std::vector<CurveMark> marks_of(const Report& report, const SweepGroup& group) {
  std::vector<CurveMark> marks;
  for (const SeriesRow& row : rows_about(report, "fabric_cliffs", group)) {
    const std::string answer = row.text("answer");
    const auto from = row.number("from_bytes"), to = row.number("to_bytes");
    if (answer == "no cliff" || answer == "undecided" || !from || !to) continue;
    if (answer == "unstable")
      marks.push_back({*from, *to});
    else
      marks.push_back({*to, row.number("until_bytes").value_or(*to)});
  }
  return marks;
}

}  // namespace

void draw_sweep_table(const Report& report, const SweepGroup& group, Canvas& canvas) {
  canvas.start(0, 2);
  canvas.piece(heading_of(group), Paint::strong);
  if (group.ranks) canvas.piece(plural(static_cast<std::int64_t>(*group.ranks), "rank"), Paint::plain, 3);
  canvas.piece(group.source == "sweep" ? report.run.backend : group.source, Paint::faint, 3);
  draw_rows(group, canvas);
}

SweepCurve sweep_curve(const Report& report, const SweepGroup& group) {
  SweepCurve curve{"busbw, GB/s", points_of(group, "busbw_gbytes_per_s"), marks_of(report, group)};
  if (curve.points.size() >= 2) return curve;
  return {"time, µs", points_of(group, "p50_us"), std::move(curve.marks)};
}

void draw_sweep_curve(const Report& report, const SweepGroup& group, Canvas& canvas) {
  const SweepCurve curve = sweep_curve(report, group);
  constexpr int kWidest = 76;
  const std::vector<std::string> lines =
      curve_lines(curve.points, curve.marks,
                  {std::min(canvas.width() - kIndent, kWidest), canvas.narrow() ? 8 : 11, canvas.options().charset});
  if (lines.empty()) return;
  draw_line(std::string(curve.what) + " over size" + (curve.marks.empty() ? "" : "; marked: what is said below"),
            Paint::faint, canvas);
  for (const std::string& line : lines) draw_line(line, Paint::plain, canvas);
}

}  // namespace gradsync
