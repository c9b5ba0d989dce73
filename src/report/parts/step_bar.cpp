// The classes of the median step, with a bar for each.
//
//   step 142.0 ms (139.8 … 146.3, n 48)
//        compute 107.1 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ (forward 41.2, backward 62.8, optimiser 3.1)  compress 8.6 ▇  …
//
// Shown parts add up to the shown whole: each is rounded as everywhere else in the report, and the largest takes the
// last digits that rounding left over. What was not measured is not there; "0" was measured. Parts that come from a
// profiler's steps alone are marked where those are longer than plain steps, and are shares where they are much longer.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/step_parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

constexpr int kCells = 20;  // of the whole step

std::string labelled(const StepPart& part, const StepDigits& digits) {
  return part.label + " " + number_text(part, digits);
}

std::string item_text(const StepPart& item, double total, const StepDigits& digits) {
  std::string text = labelled(item, digits) + " ";
  const auto cells = std::lround(item.value / total * kCells);
  for (long cell = 0; cell < cells; ++cell) text += "▇";
  text = no_break(text);
  if (item.inner.size() == 1 && item.inner[0].name == "comm_unsplit") return text + " (" + no_break("not split") + ")";
  std::vector<std::string> inner;
  for (const StepPart& part : item.inner) inner.push_back(no_break(labelled(part, digits)));
  return inner.empty() ? text : text + " (" + join(inner, ", ") + ")";
}

void draw_headline(const Report& report, const std::string& scope, const std::string& label, Canvas& canvas) {
  canvas.start(0, 5);
  const Metric* time = metric_in(report, "step.time_ms", scope);
  if (time == nullptr) {
    canvas.piece(label + ":", Paint::strong);
    canvas.piece("time not measured", Paint::faint);
    return;
  }
  canvas.piece(no_break(label + " " + format_ms(time->value)), Paint::strong);
  canvas.piece(spread_text(*time), Paint::faint);
}

void draw_classes(const Report& report, const Attribution& attribution, Canvas& canvas) {
  const std::optional<StepSplit> split = step_split(report, attribution);
  if (!split) return;
  canvas.start(5, canvas.narrow() ? 7 : 5);
  for (const StepPart& item : split->items) canvas.piece(item_text(item, split->total, split->digits), Paint::plain, 2);
}

void draw_inflation(const Report& report, const Attribution& attribution, Canvas& canvas) {
  const std::string text = inflation_text(report, attribution);
  if (text.empty()) return;
  canvas.start(5, 5);
  canvas.piece(text, Paint::faint);
}

}  // namespace

void draw_step_bars(const Report& report, Canvas& canvas) {
  const bool every = canvas.options().verbosity == Verbosity::verbose;
  bool drawn = false;
  for (const Attribution& attribution : report.attribution) {
    if (!every && (attribution.scope != "all" || attribution.step != "median")) continue;
    draw_headline(report, attribution.scope, step_label(attribution), canvas);
    draw_classes(report, attribution, canvas);
    draw_inflation(report, attribution, canvas);
    drawn = true;
  }
  if (!drawn) draw_headline(report, "all", "step", canvas);
}

}  // namespace gradsync
