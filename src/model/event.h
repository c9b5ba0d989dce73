// An Event: an interval on a lane of a rank. The vocabulary (Kind, Phase, Source, flags) is the spool's own,
// so that no table translates between them; meanings are listed in docs/events.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/model/vocabulary.h"

namespace gradsync {

using Nanoseconds = std::int64_t;

// Index into a StringPool; 0 is the empty string.
enum class NameId : std::uint32_t { none = 0 };
// Lane within one process: a CPU thread (ordinal) or a device stream (high bit set).
enum class LaneId : std::uint32_t {};
inline constexpr std::uint32_t kStreamLaneBit = 0x80000000;

inline constexpr std::uint32_t kNoStep = 0xffffffff;

struct Event {
  Kind kind = Kind::empty;
  Phase phase = Phase::none;
  Source source = Source::unknown;
  std::uint8_t flags = 0;
  LaneId lane{};
  std::uint32_t step = kNoStep;  // the writer's step counter; the timeline assigns steps by time
  NameId name = NameId::none;
  Nanoseconds start = 0;          // CLOCK_MONOTONIC of the writer's host until the timeline aligns ranks
  Nanoseconds end = 0;            // 0 = never ended
  std::uint64_t correlation = 0;  // reference of a related event of the same process
  std::int64_t bytes = 0;
  NameId group = NameId::none;  // communicator; steps: variant number
  std::uint32_t sequence = 0;
  std::uint64_t reference = 0;  // this event's own reference within its process

  Nanoseconds duration() const { return end > start ? end - start : 0; }
  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  bool on_stream() const { return (static_cast<std::uint32_t>(lane) & kStreamLaneBit) != 0; }
};

}  // namespace gradsync
