#include "src/report/html/plot.h"

#include <algorithm>
#include <cmath>

namespace gradsync {
namespace {

constexpr double kTickRoom = 72;  // between the labels of an axis of x

// 1, 2 or 5 times a power of ten.
double round_step(double range, int most) {
  const double rough = range / std::max(most, 1), power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

std::vector<double> linear_ticks(double low, double high, int most, double least_step) {
  const double step = std::max(round_step(high - low, most), least_step);
  std::vector<double> ticks;
  for (double count = std::ceil(low / step - 1e-9); count * step <= high + step * 1e-9; ++count)
    ticks.push_back(count * step);
  return ticks;
}

// Every power of `base`, or of its squares, fourth powers and so on, so that there are few enough.
std::vector<double> power_ticks(double low, double high, double base, int most) {
  const double first = std::ceil(std::log(low) / std::log(base) - 1e-9);
  const double last = std::floor(std::log(high) / std::log(base) + 1e-9);
  const double each = std::max(1.0, std::ceil((last - first + 1) / std::max(most, 1)));
  std::vector<double> ticks;
  for (double power = first; power <= last; power += each) ticks.push_back(std::pow(base, power));
  return ticks;
}

// 1, 2 and 5 times powers of ten.
std::vector<double> decade_ticks(double low, double high) {
  std::vector<double> ticks;
  for (double power = std::floor(std::log10(low)); std::pow(10, power) <= high; ++power)
    for (const double factor : {1.0, 2.0, 5.0})
      if (const double tick = factor * std::pow(10, power); tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9))
        ticks.push_back(tick);
  return ticks;
}

bool is_linear(ScaleKind kind) { return kind == ScaleKind::linear || kind == ScaleKind::whole; }

void add_tip(Markup& page, const std::string& tip) {
  if (!tip.empty()) page.element("title", {}, tip);
}

}  // namespace

Scale::Scale(ScaleKind kind, double low, double high, double from, double to)
    : kind_(kind), low_(low), high_(high), from_(from), to_(to) {
  if (!std::isfinite(low_)) low_ = 0;
  if (!std::isfinite(high_)) high_ = low_;
  if (!is_linear(kind_)) low_ = std::max(low_, 1e-12);
  if (high_ <= low_) high_ = is_linear(kind_) ? low_ + 1 : low_ * 2;
}

double Scale::at(double value) const {
  if (!std::isfinite(value)) return from_;
  value = std::clamp(value, low_, high_);
  const double share =
      is_linear(kind_) ? (value - low_) / (high_ - low_) : std::log(value / low_) / std::log(high_ / low_);
  return from_ + share * (to_ - from_);
}

std::vector<double> Scale::ticks(int most) const {
  const bool few_decades = high_ < 300 * low_;
  std::vector<double> ticks;
  if (kind_ == ScaleKind::sizes) ticks = power_ticks(low_, high_, 2, most);
  if (kind_ == ScaleKind::logarithmic)
    ticks = few_decades ? decade_ticks(low_, high_) : power_ticks(low_, high_, 10, most);
  if (is_linear(kind_) || (ticks.size() < 2 && few_decades))
    ticks = linear_ticks(low_, high_, most, kind_ == ScaleKind::whole ? 1 : 0);
  if (ticks.empty()) ticks.push_back(low_);
  return ticks;
}

Plot::Plot(Markup& page, const PlotWords& words, const Axis& x, const Axis& y, const PlotSize& size)
    : page_(page),
      base_(page.depth()),
      size_(size),
      caption_(words.caption),
      x_(x.kind, x.low, x.high, size.left, size.width - size.right),
      y_(y.kind, y.low, y.high, size.height - size.bottom, size.top) {
  const std::string id = page.id("plot-" + words.title);
  const std::string width = coordinate(size.width), height = coordinate(size.height);
  page.open("figure");
  page.element("h3", {}, words.title);
  page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "group"}, {"aria-label", words.title}});
  page.open("svg", {{"viewBox", "0 0 " + width + " " + height},
                    {"width", width},
                    {"height", height},
                    {"role", "img"},
                    {"aria-labelledby", id + "-t " + id + "-d"}});
  page.element("title", {{"id", id + "-t"}}, words.title);
  page.element("desc", {{"id", id + "-d"}}, words.description);
  draw_x_axis(x);
  draw_y_axis(y);
}

void Plot::draw_x_axis(const Axis& axis) {
  path("axis", move_to(left(), floor()) + line_to(right(), floor()));
  if (axis.label) {
    const int most = static_cast<int>((right() - left()) / kTickRoom);
    for (const double tick : x_.ticks(most)) {
      path("axis", move_to(x(tick), floor()) + line_to(x(tick), floor() + 4));
      word(x(tick), floor() + 16, axis.label(tick), "mid");
    }
  }
  if (!axis.name.empty()) word((left() + right()) / 2, size_.height - 8, axis.name, "mid");
}

void Plot::draw_y_axis(const Axis& axis) {
  if (!axis.label) return;
  for (const double tick : y_.ticks(static_cast<int>((floor() - top()) / 36))) {
    path("grid", move_to(left(), y(tick)) + line_to(right(), y(tick)));
    word(left() - 6, y(tick) + 4, axis.label(tick), "end");
  }
  if (!axis.name.empty()) word(4, top() + 2, axis.name);
}

void Plot::path(const std::string& style, const std::string& data, const std::string& tip) {
  const Attributes attributes{{"class", style}, {"d", data}};
  if (tip.empty()) return page_.empty("path", attributes);
  page_.open("path", attributes);
  add_tip(page_, tip);
  page_.close();
}

void Plot::box(const std::string& style, double left, double top, double width, double height, const std::string& tip) {
  const Attributes attributes{{"class", style},
                              {"x", coordinate(left)},
                              {"y", coordinate(top)},
                              {"width", coordinate(std::max(width, 0.1))},
                              {"height", coordinate(std::max(height, 0.1))}};
  if (tip.empty()) return page_.empty("rect", attributes);
  page_.open("rect", attributes);
  add_tip(page_, tip);
  page_.close();
}

void Plot::dot(const std::string& style, double x, double y, const std::string& tip) {
  page_.open("circle", {{"class", style}, {"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", "3.5"}});
  add_tip(page_, tip);
  page_.close();
}

void Plot::word(double x, double y, std::string_view text, const std::string& style) {
  Attributes attributes{{"x", coordinate(x)}, {"y", coordinate(y)}};
  if (!style.empty()) attributes.emplace_back("class", style);
  page_.element("text", attributes, text);
}

void Plot::finish(const std::vector<LegendEntry>& legend) {
  page_.close_to(base_ + 1);
  if (!legend.empty() || !caption_.empty()) {
    page_.open("figcaption");
    for (const LegendEntry& entry : legend) {
      page_.open("span", {{"class", "key"}});
      page_.open("svg", {{"viewBox", "0 0 12 12"}, {"width", "12"}, {"height", "12"}, {"aria-hidden", "true"}});
      page_.empty("rect", {{"class", entry.style}, {"width", "12"}, {"height", "12"}});
      page_.close();
      page_.text(" " + entry.text);
      page_.close();
      page_.text(" ");
    }
    if (!caption_.empty()) page_.element("p", {{"class", "faint"}}, caption_);
    page_.close();
  }
  page_.close_to(base_);
}

std::string move_to(double x, double y) { return "M" + coordinate(x) + " " + coordinate(y); }

std::string line_to(double x, double y) { return "L" + coordinate(x) + " " + coordinate(y); }

std::string box_path(double left, double top, double width, double height) {
  return move_to(left, top) + "h" + coordinate(width) + "v" + coordinate(height) + "h" + coordinate(-width) + "z";
}

}  // namespace gradsync
