// Many ranks made one job: collectives matched, clocks aligned where that can be proved, and in each rank the list of
// what it shares with others (RankTimeline::shared).
//
// It runs between the timelines and the analyzers' first half, because that half sees one rank alone: what only all
// ranks together can tell is written into each of them first. It is quick (collectives only, and one pass over the
// stamps that move), so it is not spread over threads, and the report is the same with any number of them.
//
// When the last peer arrived is told by the clock where ranks share one. Where they do not, durations tell it: a
// collective ends on all ranks together, so the shortest part is that of the last to arrive, and what another rank's
// part is longer is its wait.
#pragma once

#include "src/timeline/align_clocks.h"

namespace gradsync {

struct JoinedRanks {
  ClockAlignment clocks;
  std::int64_t collectives = 0;                  // found on two ranks or more
  std::int64_t events = 0, cut = 0, differ = 0;  // as in CollectiveMatching
};

JoinedRanks join_ranks(std::vector<RankTimeline>& ranks);

}  // namespace gradsync
