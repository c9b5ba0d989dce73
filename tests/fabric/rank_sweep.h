// One rank of a small sweep: every operation and type at some sizes, checked and timed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "collectors/fabric/backend.h"

namespace gradsync {

struct RankSweep {
  std::vector<std::int64_t> bytes;
  int repeats = 1;
  int ranks = 2;
};

struct RankRow {
  FabricCall call;
  std::vector<FabricTiming> timings;
  std::int64_t wrong = 0;  // on this rank
};

std::vector<FabricCall> calls_of(const RankSweep& sweep);
Result<std::vector<RankRow>> sweep_rank(FabricBackend& backend, const RankSweep& sweep);

// The middle one of the times, in microseconds. NaN: not all have one.
double median_device_us(const RankRow& row);
double median_graph_us(const RankRow& row);

// Bytes per second over one link that a ring would need, as nccl-tests defines it.
double bus_gbytes_per_s(const FabricCall& call, int ranks, double us);

}  // namespace gradsync
