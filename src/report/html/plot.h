// Scales, ticks, the frame and the legend of every picture. A Plot opens a figure with an SVG and draws its axes; the
// caller adds shapes at x(…), y(…) and finishes it. Coordinates are the SVG's own, from the upper left corner.
//
//   figure ─ svg (title, desc) ─ grid, labels of ticks, names of axes, shapes
//          ─ figcaption, legend
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/html/markup.h"

namespace gradsync {

enum class ScaleKind {
  linear,
  whole,  // linear, ticks at whole numbers
  logarithmic,
  sizes  // logarithmic, ticks at powers of two
};

class Scale {
 public:
  // Values from `low` to `high` become positions from `from` to `to`. A logarithmic scale needs values above 0.
  Scale(ScaleKind kind, double low, double high, double from, double to);
  double at(double value) const;  // values beside the range lie at its end
  // Round values in the range, at most about `most`; at least one.
  std::vector<double> ticks(int most) const;

 private:
  ScaleKind kind_;
  double low_, high_, from_, to_;
};

struct Axis {
  ScaleKind kind = ScaleKind::linear;
  double low = 0, high = 1;
  std::string name;                          // "µs", "message size"; empty: none
  std::function<std::string(double)> label;  // of a tick; empty: no ticks
};

struct PlotWords {
  std::string title, description;  // of the SVG, for who cannot see it; the title is also the heading of the figure
  std::string caption;             // below it; empty: none
};

struct PlotSize {
  double width = 900, height = 260;
  double left = 64, right = 28, top = 12, bottom = 44;  // margins
};

struct LegendEntry {
  std::string style;  // a class of the style sheet: "k-compute"
  std::string text;
};

class Plot {
 public:
  Plot(Markup& page, const PlotWords& words, const Axis& x, const Axis& y, const PlotSize& size = {});
  Plot(const Plot&) = delete;
  Plot& operator=(const Plot&) = delete;

  double x(double value) const { return x_.at(value); }
  double y(double value) const { return y_.at(value); }
  double left() const { return size_.left; }
  double right() const { return size_.width - size_.right; }
  double top() const { return size_.top; }
  double floor() const { return size_.height - size_.bottom; }

  void path(const std::string& style, const std::string& data, const std::string& tip = "");
  void box(const std::string& style, double left, double top, double width, double height, const std::string& tip = "");
  void dot(const std::string& style, double x, double y, const std::string& tip = "");
  void word(double x, double y, std::string_view text, const std::string& style = "");

  void finish(const std::vector<LegendEntry>& legend = {});

 private:
  void draw_x_axis(const Axis& axis);
  void draw_y_axis(const Axis& axis);

  Markup& page_;
  std::size_t base_;
  PlotSize size_;
  std::string caption_;
  Scale x_, y_;
};

// "M12.5 40"
std::string move_to(double x, double y);
std::string line_to(double x, double y);
// A closed box as part of a path.
std::string box_path(double left, double top, double width, double height);

}  // namespace gradsync
