// Lateness told by the collectives that ranks share, for traces with few steps or without a common clock. Communicators
// are judged apart: a rank is late against those it works with, whatever the stages of a pipeline do at that time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/model/analyzer.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// One rank in one communicator, over the shared collectives in which somebody waited.
struct CollectiveLateness {
  std::string group;
  std::int64_t collectives = 0;
  std::int64_t last = 0;      // it was the last to arrive
  std::int64_t shortest = 0;  // its part was the shortest
  double late_total_ms = 0;   // after the median of the others, where it was the last
  double time_ms = 0;         // of the steps looked at
  std::vector<double> late_per_step_ms;

  double last_percent() const { return 100.0 * static_cast<double>(last) / static_cast<double>(collectives); }
  double shortest_percent() const { return 100.0 * static_cast<double>(shortest) / static_cast<double>(collectives); }
};

void summarise_lateness(const RankTimeline& rank, Summary& summary);

// By rank; a rank's communicator that it delays most comes first. Fewer than three collectives are no sample.
std::map<int, std::vector<CollectiveLateness>> lateness_by_rank(const Summary& summary);

}  // namespace gradsync
