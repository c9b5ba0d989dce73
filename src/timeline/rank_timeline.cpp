#include "src/timeline/rank_timeline.h"

#include <algorithm>

namespace gradsync {

const char* to_string(StepSource source) {
  switch (source) {
    case StepSource::none:
      return "none";
    case StepSource::hook:
      return "hook";
    case StepSource::nvtx:
      return "nvtx";
    case StepSource::profiler:
      return "profiler";
    case StepSource::repetition:
      return "repetition";
  }
  return "none";
}

NameId StringPool::intern(std::string_view text) {
  const auto [slot, inserted] = ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (inserted) texts_.push_back(&slot->first);
  return NameId{slot->second};
}

std::string_view StringPool::view(NameId id) const {
  const auto index = static_cast<std::size_t>(id);
  return index < texts_.size() ? std::string_view(*texts_[index]) : std::string_view{};
}

std::optional<NameId> StringPool::find(std::string_view text) const {
  const auto found = ids_.find(std::string(text));
  if (found == ids_.end()) return std::nullopt;
  return NameId{found->second};
}

namespace {

template <class Value, class Table>
const Value* attribute_of(const Table& table, const StringPool& strings, const Event& event, std::string_view key) {
  const std::optional<NameId> id = strings.find(key);
  const auto found = table.find(event.reference);
  if (!id || found == table.end()) return nullptr;
  for (const auto& [name, value] : found->second)
    if (name == *id) return &value;
  return nullptr;
}

}  // namespace

std::optional<std::int64_t> RankTimeline::integer(const Event& event, std::string_view key) const {
  const std::int64_t* value = attribute_of<std::int64_t>(integers, *strings, event, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::string_view RankTimeline::text(const Event& event, std::string_view key) const {
  const NameId* value = attribute_of<NameId>(texts, *strings, event, key);
  return value == nullptr ? std::string_view{} : strings->view(*value);
}

std::string RankTimeline::fact(std::string_view key) const {
  const auto found = facts.find(std::string(key));
  return found == facts.end() ? std::string{} : found->second;
}

RankTimeline::Range RankTimeline::beginning_in(Interval window) const {
  const auto before = [](const Event& event, Nanoseconds time) { return event.start < time; };
  const auto first = std::lower_bound(events.begin(), events.end(), window.start, before);
  const auto last = std::lower_bound(first, events.end(), window.end, before);
  return {static_cast<std::size_t>(first - events.begin()), static_cast<std::size_t>(last - events.begin())};
}

const SharedCollective* RankTimeline::shared_at(std::size_t event) const {
  const auto found = std::lower_bound(shared.begin(), shared.end(), event,
                                      [](const SharedCollective& one, std::size_t index) { return one.event < index; });
  return found != shared.end() && found->event == event ? &*found : nullptr;
}

std::optional<std::size_t> RankTimeline::step_at(Nanoseconds time) const {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time,
                                      [](Nanoseconds t, const StepSpan& step) { return t < step.start; });
  if (after == steps.begin()) return std::nullopt;
  const auto index = static_cast<std::size_t>(after - steps.begin() - 1);
  if (time >= steps[index].end) return std::nullopt;
  return index;
}

Nanoseconds RankTimeline::first_time() const { return events.empty() ? 0 : events.front().start; }

Nanoseconds RankTimeline::last_time() const {
  Nanoseconds last = 0;
  for (const Event& event : events) last = std::max({last, event.start, event.end});
  return last;
}

}  // namespace gradsync
