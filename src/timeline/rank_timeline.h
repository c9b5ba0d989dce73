// RankTimeline: everything one rank did, on the run's common clock, with its steps. Built by TimelineBuilder,
// then read-only and safe to read from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/model/event_sink.h"
#include "src/model/report.h"
#include "src/timeline/event_list.h"
#include "src/timeline/intervals.h"

namespace gradsync {

// Where the steps come from; printed in the report.
enum class StepSource { none, hook, nvtx, profiler, repetition };
const char* to_string(StepSource source);

struct StepSpan {
  std::int64_t number = 0;
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  std::uint32_t variant = 0;                                // 1: run --ab left the communication hook out
  std::optional<std::int64_t> ab_block;                     // block of that experiment, of steps that count in it
  bool deep = false;                                        // a profiler window was open in it
  bool warm_up = false;                                     // trimmed, or `counters`
  bool counters = false;                                    // hardware counters were read in it: counts nowhere
  bool plain() const { return !deep && !warm_up; }          // of either side of an experiment
  bool counted() const { return plain() && variant == 0; }  // of the job as it is
  Interval interval() const { return {start, end}; }
};

// A collective that was found on other ranks, too; times are this rank's. Written by join_ranks.
struct SharedCollective {
  std::uint32_t event = 0;         // index into events
  NameId group = NameId::none;     // communicator, as far as it is known
  std::int32_t members = 0;        // ranks on which it was found
  Nanoseconds peers_ready = 0;     // start ≤ when the last member had arrived ≤ end
  Nanoseconds late = 0;            // this rank's arrival after the median of the other members'
  Nanoseconds late_by_length = 0;  // the same, told by durations alone: needs no common clock
  bool last = false;               // no member arrived later
  bool shortest = false;           // no member's part is shorter: the last to arrive, whatever the clocks say
  bool complete = false;           // every rank of the communicator was found
  bool somebody_waited = false;    // long enough to matter for the step
};

// Shared text of all ranks of a run: NameId → characters.
class StringPool {
 public:
  StringPool() { intern({}); }
  NameId intern(std::string_view text);
  std::string_view view(NameId id) const;
  std::optional<NameId> find(std::string_view text) const;

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<const std::string*> texts_;
};

// Lanes of different feeds of one rank are told apart by the bits of their id from here on; below them stands the
// lane's number within its feed.
inline constexpr std::uint32_t kLaneFeedShift = 20;

class RankTimeline {
 public:
  int rank = -1;
  ProcessInfo process;
  StepSource step_source = StepSource::none;
  std::vector<LaneInfo> lanes;
  EventList events;             // by start
  std::vector<StepSpan> steps;  // by start; disjoint
  // What a trace of the host tells of this process: waits for a CPU and interrupts of its threads, and the windows in
  // which such a trace ran (docs/events.md). By start.
  std::vector<Event> host_events;
  Facts facts;
  std::optional<double> clock_residual_us;  // of its deep windows and of the alignment with other ranks, worst
  std::optional<LaneId> training_lane;      // the thread that runs backward
  std::string clock;                        // whose stamps these are; ranks of one name need no alignment
  std::vector<SharedCollective> shared;     // by event

  std::string_view name(NameId id) const { return strings->view(id); }
  std::string_view name(const Event& event) const { return strings->view(event.name); }
  std::optional<std::int64_t> integer(const Event& event, std::string_view key) const;
  std::string_view text(const Event& event, std::string_view key) const;
  std::string fact(std::string_view key) const;

  // Events that begin inside `window`: a half-open index range into `events`.
  struct Range {
    std::size_t first = 0, last = 0;
  };
  Range beginning_in(Interval window) const;
  // The shared collective at an index into `events`; null when it was not found elsewhere.
  const SharedCollective* shared_at(std::size_t event) const;
  // Index into `steps` of the step that holds `time`, if any.
  std::optional<std::size_t> step_at(Nanoseconds time) const;
  Nanoseconds first_time() const;
  Nanoseconds last_time() const;

  std::shared_ptr<const StringPool> strings;
  std::unordered_map<std::uint64_t, std::vector<std::pair<NameId, std::int64_t>>> integers;  // by event reference
  std::unordered_map<std::uint64_t, std::vector<std::pair<NameId, NameId>>> texts;
};

}  // namespace gradsync
