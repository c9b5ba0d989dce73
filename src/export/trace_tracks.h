// Which thread of the trace an event is drawn on. A thread of a trace draws what nests; what overlaps otherwise gets rows
// of its own:
//
//   MainThread               ├─ backward ─────────────────┤  ├─ SGD.step ─┤
//   MainThread: collectives       ├─ all_reduce ──────┤
//   MainThread: collectives (2)        ├─ all_reduce ────────┤
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/export/trace_text.h"

namespace gradsync {

// What a group of rows holds; drawn in this order.
enum class TrackGroup { steps, lane, collectives, stream, cpu, observer };

class TraceTracks {
 public:
  // Numbers of threads are unique in the whole trace: `next_thread` is counted up.
  TraceTracks(TraceText& text, int process, int& next_thread)
      : text_(text), process_(process), next_thread_(next_thread) {}

  // The first row of the group on which [start, end) nests; the row is named when it is new. Calls come in order of
  // start, of those that start together the longest first. `number` and `name` tell one group from another.
  Track place(TrackGroup group, std::uint32_t number, const std::string& name, Nanoseconds start, Nanoseconds end);

 private:
  struct Row {
    int thread = 0;
    std::vector<Nanoseconds> open;  // ends of what is open, innermost last
  };

  TraceText& text_;
  int process_;
  int& next_thread_;
  std::map<std::pair<TrackGroup, std::uint32_t>, std::vector<Row>> rows_;
};

}  // namespace gradsync
