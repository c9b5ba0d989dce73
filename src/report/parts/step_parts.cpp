#include "src/report/parts/step_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/base/text.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

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

int decimals_for(double total) { return total >= 10000 ? 0 : total >= 10 ? 1 : total >= 1 ? 2 : 3; }

void round_parts(std::vector<StepPart>& parts, double whole, int decimals) {
  if (parts.empty()) return;
  const double scale = std::pow(10, decimals);
  double sum = 0;
  std::int64_t ticks = 0;
  for (StepPart& part : parts) {
    part.ticks = std::llround(part.value * scale);
    ticks += part.ticks;
    sum += part.value;
  }
  if (std::abs(sum - whole) * scale > 1) return;  // they are no split of this whole
  auto largest = std::max_element(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.value < b.value; });
  largest->ticks += std::llround(whole * scale) - ticks;
}

std::vector<StepPart> phases_of(const Report& report, const std::string& scope, double compute, int decimals) {
  std::vector<StepPart> phases;
  for (const ClassLabel& phase : kPhases)
    if (const Metric* metric = metric_in(report, phase.name, scope); metric != nullptr)
      phases.push_back({std::string(phase.name), std::string(phase.label), metric->value});
  round_parts(phases, compute, decimals);
  return phases;
}

// Classes in display order; those this program does not know follow.
std::vector<StepPart> classes_of(const Attribution& attribution) {
  std::vector<StepPart> parts;
  std::map<std::string, double> left = attribution.parts_ms;
  for (const ClassLabel& known : kClasses)
    if (const auto node = left.extract(std::string(known.name)); !node.empty())
      parts.push_back({node.key(), std::string(known.label), node.mapped()});
  for (const auto& [name, value] : left) parts.push_back({name, name, value});
  std::erase_if(parts, [](const StepPart& part) { return !std::isfinite(part.value); });
  return parts;
}

std::vector<StepPart> with_comm_as_one(std::vector<StepPart> parts) {
  std::vector<StepPart> items;
  for (StepPart& part : parts) {
    if (!part.name.starts_with("comm_")) {
      items.push_back(std::move(part));
      continue;
    }
    if (items.empty() || items.back().name != "comm") items.push_back({"comm", "comm"});
    StepPart& comm = items.back();
    comm.value += part.value;
    comm.ticks += part.ticks;
    comm.inner.push_back(std::move(part));
  }
  return items;
}

}  // namespace

std::optional<StepSplit> step_split(const Report& report, const Attribution& attribution) {
  std::vector<StepPart> parts = classes_of(attribution);
  double total = 0;
  for (const StepPart& part : parts) total += part.value;
  if (parts.empty() || total <= 0) return std::nullopt;
  const Metric* time = metric_in(report, "step.time_ms", attribution.scope);
  double whole = time != nullptr ? time->value : total;
  if (attribution.shares_only) {
    for (StepPart& part : parts) part.value *= 100 / total;
    whole = total = 100;
  }
  const StepDigits digits{attribution.shares_only ? 0 : decimals_for(whole), attribution.shares_only ? " %" : ""};
  round_parts(parts, whole, digits.decimals);
  StepSplit split{with_comm_as_one(std::move(parts)), total, digits};
  for (StepPart& item : split.items) {
    const double shown = static_cast<double>(item.ticks) / std::pow(10, digits.decimals);
    if (item.name == "compute" && !attribution.shares_only)
      item.inner = phases_of(report, attribution.scope, shown, digits.decimals);
  }
  return split;
}

std::string number_text(const StepPart& part, const StepDigits& digits) {
  const double shown = static_cast<double>(part.ticks) / std::pow(10, digits.decimals);
  return (part.value == 0 ? "0" : fmt::format("{:.{}f}", shown, digits.decimals)) + std::string(digits.unit);
}

std::vector<std::string_view> step_classes() {
  std::vector<std::string_view> names;
  for (const ClassLabel& known : kClasses) names.push_back(known.name);
  return names;
}

std::string class_label(std::string_view name) {
  const auto* known = std::find_if(kClasses.begin(), kClasses.end(), [&](auto& label) { return label.name == name; });
  return std::string(known != kClasses.end() ? known->label : name);
}

std::string step_label(const Attribution& attribution) {
  const std::string step = attribution.step == "median" ? "step" : attribution.step + " step";
  return attribution.scope == "all" ? step : scope_text(attribution.scope) + " " + step;
}

std::string inflation_text(const Report& report, const Attribution& attribution) {
  if (attribution.inflated.empty()) return "";
  std::vector<std::string> names;
  for (const std::string& name : attribution.inflated) names.push_back(class_label(name));
  const Metric* inflation = metric_in(report, "window.inflation_percent", "all");
  return "inflated by observation: " + join(names, ", ") +
         (inflation != nullptr
              ? fmt::format(" (the profiler's steps take {:.0f} % longer than plain ones)", inflation->value)
              : "");
}

const Metric* metric_in(const Report& report, std::string_view name, const std::string& scope) {
  const Metric* metric = find_metric(report, name, scope).metric;
  return metric != nullptr && metric->scope == scope ? metric : nullptr;
}

}  // namespace gradsync
