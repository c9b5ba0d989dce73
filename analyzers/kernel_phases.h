// What a device's kernels were for: the phase of the range that launched them, whatever their names are.
//
//   thread 2   compress ├─────── launch ───────┤          the job's own ranges and the framework's hook
//   stream 7                              ├─ kernel ─┤    joined to its launch by correlation: compress
//
// The innermost range with a phase on the thread of the launch counts; where that thread has none (the engine's for
// backward), the phase that some thread was in at that time. A kernel without a launch in the trace has no phase.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "src/timeline/rank_timeline.h"

namespace gradsync {

class KernelPhases {
 public:
  // Launches and ranges that began in `window`: a kernel of a step may have been launched in the step before.
  KernelPhases(const RankTimeline& rank, Interval window);
  Phase of(const Event& kernel) const;

 private:
  struct Launch {
    std::uint64_t thread = 0;
    Nanoseconds at = 0;
  };
  struct Range {
    Interval interval;
    Phase phase = Phase::none;
  };
  // The operating system's number where it is known: a file's lanes are not those of the job's own recording.
  std::uint64_t thread_of(LaneId lane) const;
  static Phase innermost(const std::vector<Range>& ranges, Nanoseconds at);

  std::map<LaneId, std::uint64_t> threads_;
  std::unordered_map<std::uint64_t, Launch> launches_;     // by correlation
  std::map<std::uint64_t, std::vector<Range>> by_thread_;  // by start
  std::vector<Range> steady_;                              // forward, backward, optimiser, of any thread
};

}  // namespace gradsync
