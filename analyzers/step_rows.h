// The rows that one rank's steps leave for attribution and those who follow it: the table `steps` (rows.h), what blocked
// each step on communication, and when the rank was ready for each collective.
#pragma once

#include <string_view>

#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

// Stretches of communication that nothing hid, of collectives whose last arrival is not known before all ranks are
// together: rank, step, key, start_ns,
// end_ns, startup_ns (0: not known).
inline constexpr std::string_view kBlockedTable = "blocked";
// When the rank was ready for such a collective: rank, key, time_ns.
inline constexpr std::string_view kArrivalTable = "arrivals";
// Sums over the stretches of the others, a row for each step that has some: rank, step, peer_wait_ns, transfer_ns (-1
// where a rank is missing that may have come later still), startup_ns (-1: not known).
inline constexpr std::string_view kSplitTable = "comm_splits";

class StepRows {
 public:
  StepRows(const RankTimeline& rank, const Inputs& inputs, Summary& summary);
  // `claimed`: one class for every nanosecond of the step.
  void add(const StepSpan& step, const StepActivity& seen, const Activity& claimed);

 private:
  void add_blocked(const StepSpan& step, const StepActivity& seen, const IntervalSet& comm);

  const RankTimeline& rank_;
  const Inputs& inputs_;
  Series& steps_;
  Series& blocked_;
  Series& arrivals_;
  Series& splits_;
};

}  // namespace gradsync
