// Finding steps when a hook told them, and when nobody did.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <regex>

#include "src/base/statistics.h"
#include "src/timeline/builder.h"

namespace gradsync {
namespace {

std::vector<StepSpan> spans_of(const RankTimeline& rank, Kind kind, Source source, const std::regex* name) {
  std::vector<StepSpan> steps;
  for (const Event& event : rank.events) {
    if (event.kind != kind || event.source != source || event.end <= event.start) continue;
    const std::string_view text = rank.name(event);
    if (name != nullptr && !std::regex_search(text.begin(), text.end(), *name)) continue;
    if (!steps.empty() && event.start < steps.back().end) continue;  // nested or repeated
    StepSpan step;
    step.number = kind == Kind::step && event.step != kNoStep ? event.step : static_cast<std::int64_t>(steps.size());
    step.start = event.start;
    step.end = event.end;
    if (kind == Kind::step) {
      step.variant = static_cast<std::uint32_t>(event.group);
      step.deep = event.has(kFlagDeep);
      step.counters = step.warm_up = rank.integer(event, "counters").value_or(0) != 0;
      step.ab_block = rank.integer(event, "ab_block");
    }
    steps.push_back(step);
  }
  return steps;
}

std::vector<StepSpan> hook_steps(const RankTimeline& rank) {
  std::vector<StepSpan> steps;
  for (const Source source : {Source::torch_hook, Source::unknown, Source::doctor}) {
    steps = spans_of(rank, Kind::step, source, nullptr);
    if (!steps.empty()) break;
  }
  return steps;
}

std::vector<StepSpan> nvtx_steps(const RankTimeline& rank, const std::vector<NameClass>& classes) {
  for (const NameClass& entry : classes) {
    if (entry.meaning != "step") continue;
    const std::regex pattern(entry.pattern, std::regex::ECMAScript | std::regex::icase);
    std::vector<StepSpan> steps = spans_of(rank, Kind::range, Source::nvtx, &pattern);
    if (steps.size() > 1) return steps;
  }
  return {};
}

struct Rhythm {
  std::vector<Nanoseconds> starts;
  double irregularity = 0;  // coefficient of variation of the gaps
};

// A step repeats: of the names seen at least five times with even gaps, the rarest one marks it best. What repeats in a
// short stretch only, as the kernels of one call do, is no step: the whole recording must hold them.
std::vector<StepSpan> repeated_steps(const RankTimeline& rank) {
  std::map<NameId, std::vector<Nanoseconds>> occurrences;
  for (const Event& event : rank.events)
    if ((event.kind == Kind::range || event.kind == Kind::kernel || event.kind == Kind::collective) &&
        event.name != NameId::none)
      occurrences[event.name].push_back(event.start);
  // From the earlier to the later: damaged stamps may lie further apart than a Nanoseconds holds.
  const auto between = [](Nanoseconds from, Nanoseconds to) {
    return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
  };
  const double recorded = between(rank.first_time(), rank.last_time());
  const Rhythm* best = nullptr;
  std::vector<Rhythm> rhythms;
  for (auto& [name, starts] : occurrences) {
    if (starts.size() < 5 || 4 * between(starts.front(), starts.back()) < recorded) continue;
    std::vector<double> gaps;
    for (std::size_t i = 1; i < starts.size(); ++i) gaps.push_back(between(starts[i - 1], starts[i]));
    const double typical = *median(gaps);
    if (typical <= 0) continue;
    double deviation = 0;
    for (const double gap : gaps) deviation += std::abs(gap - typical);
    const double irregularity = deviation / static_cast<double>(gaps.size()) / typical;
    if (irregularity < 0.3) rhythms.push_back({std::move(starts), irregularity});
  }
  for (const Rhythm& rhythm : rhythms)
    if (best == nullptr || rhythm.starts.size() < best->starts.size() ||
        (rhythm.starts.size() == best->starts.size() && rhythm.starts.front() < best->starts.front()))
      best = &rhythm;
  std::vector<StepSpan> steps;
  if (best == nullptr) return steps;
  for (std::size_t i = 1; i < best->starts.size(); ++i) {
    StepSpan step;
    step.number = static_cast<std::int64_t>(i) - 1;
    step.start = best->starts[i - 1];
    step.end = best->starts[i];
    steps.push_back(step);
  }
  return steps;
}

}  // namespace

void trim_warm_up(std::vector<StepSpan>& steps) {
  if (steps.size() < 4) return;
  const std::size_t least = steps.size() >= 10 ? 3 : 1;
  const std::size_t most = std::max(least, steps.size() / 10);
  std::vector<double> settled;
  for (std::size_t i = least; i < steps.size(); ++i)
    if (!steps[i].deep && !steps[i].counters) settled.push_back(static_cast<double>(steps[i].end - steps[i].start));
  const double typical = median(settled).value_or(0);
  for (std::size_t i = 0; i < most; ++i) {
    if (i >= least && static_cast<double>(steps[i].end - steps[i].start) <= 1.5 * typical) break;
    steps[i].warm_up = true;
  }
}

void find_steps(RankTimeline& rank, const std::vector<NameClass>& range_classes) {
  const auto take = [&rank](std::vector<StepSpan> steps, StepSource source) {
    rank.steps = std::move(steps);
    rank.step_source = rank.steps.empty() ? StepSource::none : source;
    return !rank.steps.empty();
  };
  if (take(hook_steps(rank), StepSource::hook) || take(nvtx_steps(rank, range_classes), StepSource::nvtx) ||
      take(spans_of(rank, Kind::step, Source::profiler, nullptr), StepSource::profiler) ||
      take(repeated_steps(rank), StepSource::repetition))
    trim_warm_up(rank.steps);
}

}  // namespace gradsync
