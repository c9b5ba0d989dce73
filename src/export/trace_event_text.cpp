#include "src/export/trace_event_text.h"

#include <array>

namespace gradsync {
namespace {

constexpr std::array<std::pair<std::uint8_t, std::string_view>, 4> kFlags{
    {{kFlagDeep, "deep"}, {kFlagExtrapolated, "extrapolated"}, {kFlagAsync, "async"}, {kFlagInHook, "in_hook"}}};

bool has_reference(const Event& event) { return event.kind == Kind::wait || event.kind == Kind::range; }

// A timeline's reference is the feed above 48 bits and a number below; numbers stay far below 2^38.
std::int64_t short_reference(std::uint64_t reference) {
  constexpr std::uint64_t low = (std::uint64_t{1} << 38) - 1;
  return static_cast<std::int64_t>((reference >> 48 & 0x1ff) << 38 | (reference & low));
}

void write_attributes(TraceText& text, const RankTimeline& rank, const Event& event) {
  if (const auto found = rank.integers.find(event.reference); event.reference != 0 && found != rank.integers.end())
    for (const auto& [key, value] : found->second) text.number(rank.name(key), value);
  if (const auto found = rank.texts.find(event.reference); event.reference != 0 && found != rank.texts.end())
    for (const auto& [key, value] : found->second) text.text(rank.name(key), rank.name(value));
}

void write_flags(TraceText& text, const Event& event) {
  std::string words;
  for (const auto& [flag, word] : kFlags)
    if (event.has(flag)) words += (words.empty() ? "" : " ") + std::string(word);
  if (!words.empty()) text.text("gsd.flags", words);
}

void write_shared(TraceText& text, const SharedCollective& shared) {
  text.number("gsd.members", shared.members);
  text.real("gsd.late_us", static_cast<double>(shared.late) * 1e-3);
  if (shared.last) text.text("gsd.arrived", "last");
}

void write_fields(TraceText& text, const RankTimeline& rank, const Event& event) {
  text.text("gsd.kind", to_string(event.kind));
  text.text("gsd.source", to_string(event.source));
  if (event.phase != Phase::none) text.text("gsd.phase", to_string(event.phase));
  text.number("gsd.lane", static_cast<std::uint32_t>(event.lane));
  if (event.step != kNoStep) text.number("gsd.step", event.step);
  write_flags(text, event);
  if (event.kind == Kind::collective || event.kind == Kind::range)
    text.number("gsd.reference", short_reference(event.reference));
  if (event.correlation != 0)
    text.number("correlation", has_reference(event) ? short_reference(event.correlation)
                                                    : static_cast<std::int64_t>(event.correlation));
  if (event.bytes != 0) text.number("bytes", event.bytes);
  if (event.kind == Kind::step)
    text.number("gsd.variant", static_cast<std::uint32_t>(event.group));
  else if (event.group != NameId::none)
    text.text("group", rank.name(event.group));
  if (event.sequence != 0 || event.kind == Kind::collective) text.number("sequence", event.sequence);
}

}  // namespace

bool is_instant(const Event& event) {
  return event.kind == Kind::mark || event.kind == Kind::loss || event.end <= event.start;
}

std::string shown_name(const RankTimeline& rank, const Event& event) {
  const std::string name(rank.name(event)), group(rank.name(event.kind == Kind::step ? NameId::none : event.group));
  switch (event.kind) {
    case Kind::step:
      return "step " + (event.step == kNoStep ? name : std::to_string(event.step));
    case Kind::wait:
      return name.empty() ? "wait" : name;
    case Kind::sched_wait:
      return "waits: " + name;
    case Kind::irq:
    case Kind::softirq:
      return std::string(to_string(event.kind)) + " " + group;
    case Kind::loss:
      return "lost: " + name;
    default:
      return name.empty() ? std::string(to_string(event.kind)) : name;
  }
}

void write_event(TraceText& text, const RankTimeline& rank, const Event& event, const SharedCollective* shared,
                 Track track, Nanoseconds origin) {
  const std::string shown = shown_name(rank, event);
  const std::string_view name = rank.name(event);
  const bool instant = is_instant(event);
  text.open(instant ? 'i' : 'X', track, shown);
  text.text("cat", to_string(event.kind));
  text.time("ts", event.start - origin);
  if (instant)
    text.text("s", "t");
  else
    text.time("dur", event.end - event.start);
  text.args();
  if (shown != name) text.text("gsd.name", name);
  write_fields(text, rank, event);
  if (instant && event.end != 0) text.number("gsd.ended", 1);
  if (shared != nullptr) write_shared(text, *shared);
  write_attributes(text, rank, event);
  text.close();
}

}  // namespace gradsync
