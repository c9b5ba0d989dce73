// What samples of the host say of one step: how long threads of the rank copied between user and kernel memory, and how
// much of that inside communication that nothing hides. A sample stands for the CPU time since the one before.
#pragma once

#include <string_view>
#include <vector>

#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

// A row for each step that the samples cover as a whole: rank, step, exposed_ns (communication with nothing useful beside
// it), in_exposed_ns and in_step_ns (copies of all threads, CPU time), time_ns.
inline constexpr std::string_view kCopyJoinTable = "copy_join";
// The process of a rank: rank, host, pid.
inline constexpr std::string_view kRankProcessTable = "rank_process";

class HostCopies {
 public:
  explicit HostCopies(const RankTimeline& rank);
  // Before waits are taken out of what the step communicated.
  void add(const StepSpan& step, const StepActivity& seen);
  void write(Summary& summary) const;

 private:
  const RankTimeline& rank_;
  IntervalSet windows_;
  std::vector<Event> copies_;  // by end: when the sample was taken
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace gradsync
