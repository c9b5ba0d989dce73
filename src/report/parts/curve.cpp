#include "src/report/parts/curve.h"

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

// Positions of values on a logarithmic axis of `cells` characters.
class Axis {
 public:
  Axis(double low, double high, int cells) : low_(std::log(low)), high_(std::log(high)), cells_(cells) {}
  int cell(double value) const {
    const double share = high_ > low_ ? (std::log(value) - low_) / (high_ - low_) : 0.5;
    return std::clamp(static_cast<int>(std::lround(share * (cells_ - 1))), 0, cells_ - 1);
  }
  bool holds(double value) const { return std::log(value) >= low_ - 1e-9 && std::log(value) <= high_ + 1e-9; }
  double low() const { return std::exp(low_); }
  double high() const { return std::exp(high_); }

 private:
  double low_, high_;
  int cells_;
};

struct Glyphs {
  std::string_view point, between, tick, side, corner, floor, mark;
};

Glyphs glyphs_of(Charset charset) {
  if (charset == Charset::ascii) return {"*", ".", "+", "|", "+", "-", "^"};
  return {"●", "·", "┤", "│", "└", "─", "▲"};
}

using Grid = std::vector<std::vector<std::string_view>>;

std::string joined(const std::vector<std::string_view>& cells) {
  std::string line;
  for (const std::string_view cell : cells) line += cell;
  return line;
}

std::string padded_left(const std::string& text, int columns) {
  return std::string(static_cast<std::size_t>(std::max(0, columns - display_width(text))), ' ') + text;
}

// 1, 2 and 5 times powers of ten, one for each row at most: the roundest.
std::vector<std::string> row_labels(const Axis& axis, int rows) {
  std::vector<std::string> labels(static_cast<std::size_t>(rows));
  for (const double step : {1.0, 5.0, 2.0}) {
    for (int power = static_cast<int>(std::floor(std::log10(axis.low()))); power <= std::log10(axis.high()); ++power) {
      const double value = step * std::pow(10, power);
      if (!axis.holds(value)) continue;
      std::string& label = labels[static_cast<std::size_t>(rows - 1 - axis.cell(value))];
      if (label.empty()) label = format_short(value);
    }
  }
  return labels;
}

// "64K" for 64 KiB: sizes as nccl-tests takes them.
std::string size_word(double bytes) {
  std::string text = format_bytes(bytes);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (text.ends_with("iB")) text.resize(text.size() - 2);
  return text;
}

// As many of the sizes as fit beside each other, from the left, the last one always.
std::string size_labels(const std::vector<CurvePoint>& points, const Axis& axis, int columns) {
  std::string line(static_cast<std::size_t>(columns), ' ');
  int next = 0;
  const auto put = [&](double bytes, int limit) {
    const std::string word = size_word(bytes);
    const int width = static_cast<int>(word.size());
    const int at = std::clamp(axis.cell(bytes) - width / 2, 0, std::max(0, columns - width));
    if (at < next || at + width > limit) return;
    line.replace(static_cast<std::size_t>(at), word.size(), word);
    next = at + width + 1;
  };
  const int last = columns - static_cast<int>(size_word(points.back().x).size());
  for (const CurvePoint& point : points)
    if (&point != &points.back()) put(point.x, last - 1);
  put(points.back().x, columns);
  return line;
}

void draw_between(const CurvePoint& from, const CurvePoint& to, const Axis& x, const Axis& y, std::string_view glyph,
                  Grid& grid) {
  const int first = x.cell(from.x), last = x.cell(to.x);
  for (int column = first + 1; column < last; ++column) {
    const double share = static_cast<double>(column - first) / (last - first);
    const double value = std::exp(std::log(from.y) + share * (std::log(to.y) - std::log(from.y)));
    grid[grid.size() - 1 - static_cast<std::size_t>(y.cell(value))][static_cast<std::size_t>(column)] = glyph;
  }
}

}  // namespace

std::vector<std::string> curve_lines(std::vector<CurvePoint> points, const std::vector<CurveMark>& marks,
                                     const CurveFrame& frame) {
  std::erase_if(points, [](const CurvePoint& point) { return !(point.x > 0 && point.y > 0); });
  std::stable_sort(points.begin(), points.end(), [](auto& a, auto& b) { return a.x < b.x; });
  if (points.empty() || points.front().x == points.back().x) return {};
  const auto [least, most] =
      std::minmax_element(points.begin(), points.end(), [](auto& a, auto& b) { return a.y < b.y; });
  constexpr int kLabels = 7;
  const int rows = std::max(3, frame.height - 2), columns = std::max(10, frame.width - kLabels - 1);
  const Glyphs glyphs = glyphs_of(frame.charset);
  const Axis x(points.front().x, points.back().x, columns), y(least->y, most->y, rows);

  Grid grid(static_cast<std::size_t>(rows), std::vector<std::string_view>(static_cast<std::size_t>(columns), " "));
  for (std::size_t i = 0; i + 1 < points.size(); ++i)
    draw_between(points[i], points[i + 1], x, y, glyphs.between, grid);
  for (const CurvePoint& point : points)
    grid[grid.size() - 1 - static_cast<std::size_t>(y.cell(point.y))][static_cast<std::size_t>(x.cell(point.x))] =
        glyphs.point;
  std::vector<std::string_view> floor(static_cast<std::size_t>(columns), glyphs.floor);
  for (const CurveMark& mark : marks)
    for (int column = x.cell(std::max(mark.from, x.low())); column <= x.cell(std::max(mark.to, x.low())); ++column)
      floor[static_cast<std::size_t>(column)] = glyphs.mark;

  std::vector<std::string> lines;
  const std::vector<std::string> labels = row_labels(y, rows);
  for (std::size_t row = 0; row < grid.size(); ++row)
    lines.push_back(padded_left(labels[row], kLabels - 1) + " " +
                    std::string(labels[row].empty() ? glyphs.side : glyphs.tick) + joined(grid[row]));
  lines.push_back(std::string(kLabels, ' ') + std::string(glyphs.corner) + joined(floor));
  lines.push_back(std::string(kLabels + 1, ' ') + size_labels(points, x, columns));
  return lines;
}

}  // namespace gradsync
