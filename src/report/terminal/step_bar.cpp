// The classes of the median step, with a bar for each.
//
//   step 142.0 ms (139.8 … 146.3, n 48)
//        compute 107.1 ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ (forward 41.2, backward 62.8, optimiser 3.1)  compress 8.6 ▇  …
//
// Shown parts add up to the shown whole: each is rounded as everywhere else in the report, and the largest takes the
// last digits that rounding left over. What was not measured is not there; "0" was measured. Parts that come from a
// profiler's steps alone are marked where those are longer than plain steps, and are shares where they are much longer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/terminal/parts.h"
#include "src/report/terminal/words.h"

namespace gradsync {
namespace {

constexpr int kCells = 20;  // of the whole step

struct ClassLabel {
  std::string_view name, label;
};

// In the order of display; the comm classes follow each other and are shown as one item.
constexpr std::array<ClassLabel, 13> kClasses{{{"compute", "compute"},
                                               {"compress", "compress"},
                                               {"comm_peer_wait", "peer wait"},
                                               {"comm_startup", "start-up"},
                                               {"comm_transfer", "transfer"},
                                               {"comm_unsplit", "not split"},
                                               {"decompress", "decompress"},
                                               {"memcpy", "memcpy"},
                                               {"host_sync", "host sync"},
                                               {"launch", "launch"},
                                               {"sched_irq", "scheduling"},
                                               {"data", "data"},
                                               {"idle", "idle"}}};
constexpr std::array<ClassLabel, 3> kPhases{
    {{"phase.forward_ms", "forward"}, {"phase.backward_ms", "backward"}, {"phase.optimizer_ms", "optimiser"}}};

struct Part {
  std::string name, label;
  double value = 0;
  std::int64_t ticks = 0;   // units of the last shown digit
  std::vector<Part> inner;  // phases of compute, parts of comm
};

// How numbers of this step are written.
struct Digits {
  int decimals = 0;
  std::string_view unit;  // " %" for shares
};

int decimals_for(double total) { return total >= 10000 ? 0 : total >= 10 ? 1 : total >= 1 ? 2 : 3; }

void round_parts(std::vector<Part>& parts, double whole, int decimals) {
  if (parts.empty()) return;
  const double scale = std::pow(10, decimals);
  double sum = 0;
  std::int64_t ticks = 0;
  for (Part& part : parts) {
    part.ticks = std::llround(part.value * scale);
    ticks += part.ticks;
    sum += part.value;
  }
  if (std::abs(sum - whole) * scale > 1) return;  // they are no split of this whole
  auto largest = std::max_element(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.value < b.value; });
  largest->ticks += std::llround(whole * scale) - ticks;
}

// The metric in exactly this scope.
const Metric* metric_of(const Report& report, std::string_view name, const std::string& scope) {
  const Metric* metric = find_metric(report, name, scope).metric;
  return metric != nullptr && metric->scope == scope ? metric : nullptr;
}

std::vector<Part> phases_of(const Report& report, const std::string& scope, double compute, int decimals) {
  std::vector<Part> phases;
  for (const ClassLabel& phase : kPhases)
    if (const Metric* metric = metric_of(report, phase.name, scope); metric != nullptr)
      phases.push_back({std::string(phase.name), std::string(phase.label), metric->value});
  round_parts(phases, compute, decimals);
  return phases;
}

// Classes in display order; those this program does not know follow.
std::vector<Part> classes_of(const Attribution& attribution) {
  std::vector<Part> parts;
  std::map<std::string, double> left = attribution.parts_ms;
  for (const ClassLabel& known : kClasses)
    if (const auto node = left.extract(std::string(known.name)); !node.empty())
      parts.push_back({node.key(), std::string(known.label), node.mapped()});
  for (const auto& [name, value] : left) parts.push_back({name, name, value});
  std::erase_if(parts, [](const Part& part) { return !std::isfinite(part.value); });
  return parts;
}

std::vector<Part> with_comm_as_one(std::vector<Part> parts) {
  std::vector<Part> items;
  for (Part& part : parts) {
    if (!part.name.starts_with("comm_")) {
      items.push_back(std::move(part));
      continue;
    }
    if (items.empty() || items.back().name != "comm") items.push_back({"comm", "comm"});
    Part& comm = items.back();
    comm.value += part.value;
    comm.ticks += part.ticks;
    comm.inner.push_back(std::move(part));
  }
  return items;
}

// A true zero is "0"; less than half of the last digit is "0.0".
std::string labelled(const Part& part, const Digits& digits) {
  const double shown = static_cast<double>(part.ticks) / std::pow(10, digits.decimals);
  return fmt::format("{} {}{}", part.label, part.value == 0 ? "0" : fmt::format("{:.{}f}", shown, digits.decimals),
                     digits.unit);
}

std::string item_text(const Part& item, double total, const Digits& digits) {
  std::string text = labelled(item, digits) + " ";
  const auto cells = std::lround(item.value / total * kCells);
  for (long cell = 0; cell < cells; ++cell) text += "▇";
  text = no_break(text);
  if (item.inner.size() == 1 && item.inner[0].name == "comm_unsplit") return text + " (" + no_break("not split") + ")";
  std::vector<std::string> inner;
  for (const Part& part : item.inner) inner.push_back(no_break(labelled(part, digits)));
  return inner.empty() ? text : text + " (" + join(inner, ", ") + ")";
}

void draw_headline(const Report& report, const std::string& scope, const std::string& label, Canvas& canvas) {
  canvas.start(0, 5);
  const Metric* time = metric_of(report, "step.time_ms", scope);
  if (time == nullptr) {
    canvas.piece(label + ":", Paint::strong);
    canvas.piece("time not measured", Paint::faint);
    return;
  }
  canvas.piece(no_break(label + " " + format_ms(time->value)), Paint::strong);
  canvas.piece(spread_text(*time), Paint::faint);
}

void draw_classes(const Report& report, const Attribution& attribution, Canvas& canvas) {
  std::vector<Part> parts = classes_of(attribution);
  double total = 0;
  for (const Part& part : parts) total += part.value;
  if (parts.empty() || total <= 0) return;
  const Metric* time = metric_of(report, "step.time_ms", attribution.scope);
  double whole = time != nullptr ? time->value : total;
  if (attribution.shares_only) {
    for (Part& part : parts) part.value *= 100 / total;
    whole = total = 100;
  }
  const Digits digits{attribution.shares_only ? 0 : decimals_for(whole), attribution.shares_only ? " %" : ""};
  round_parts(parts, whole, digits.decimals);
  canvas.start(5, canvas.narrow() ? 7 : 5);
  for (Part& item : with_comm_as_one(std::move(parts))) {
    const double shown = static_cast<double>(item.ticks) / std::pow(10, digits.decimals);
    if (item.name == "compute" && !attribution.shares_only)
      item.inner = phases_of(report, attribution.scope, shown, digits.decimals);
    canvas.piece(item_text(item, total, digits), Paint::plain, 2);
  }
}

void draw_inflation(const Report& report, const Attribution& attribution, Canvas& canvas) {
  if (attribution.inflated.empty()) return;
  std::vector<std::string> names;
  for (const std::string& name : attribution.inflated) {
    const auto known = std::find_if(kClasses.begin(), kClasses.end(), [&](auto& label) { return label.name == name; });
    names.emplace_back(known != kClasses.end() ? known->label : std::string_view(name));
  }
  const Metric* inflation = metric_of(report, "window.inflation_percent", "all");
  canvas.start(5, 5);
  canvas.piece("inflated by observation: " + join(names, ", ") +
                   (inflation != nullptr
                        ? fmt::format(" (the profiler's steps take {:.0f} % longer than plain ones)", inflation->value)
                        : ""),
               Paint::faint);
}

std::string label_of(const Attribution& attribution) {
  const std::string step = attribution.step == "median" ? "step" : attribution.step + " step";
  return attribution.scope == "all" ? step : scope_text(attribution.scope) + " " + step;
}

}  // namespace

void draw_step_bars(const Report& report, Canvas& canvas) {
  const bool every = canvas.options().verbosity == Verbosity::verbose;
  bool drawn = false;
  for (const Attribution& attribution : report.attribution) {
    if (!every && (attribution.scope != "all" || attribution.step != "median")) continue;
    draw_headline(report, attribution.scope, label_of(attribution), canvas);
    draw_classes(report, attribution, canvas);
    draw_inflation(report, attribution, canvas);
    drawn = true;
  }
  if (!drawn) draw_headline(report, "all", "step", canvas);
}

}  // namespace gradsync
