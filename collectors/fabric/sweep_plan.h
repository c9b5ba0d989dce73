// Which calls a sweep makes, and in which order: sizes in random order, all of them again in every round, so that a
// disturbance of some seconds meets all sizes and not one. Pure; the same request gives the same plan.
#pragma once

#include <cstdint>
#include <vector>

#include "collectors/fabric/sweep_session.h"

namespace gradsync {

struct SweepRequest {
  std::vector<FabricOperation> operations = {FabricOperation::all_reduce};
  ElementType type = ElementType::float32;
  std::int64_t min_bytes = 1 << 10, max_bytes = std::int64_t{64} << 20;
  std::vector<std::int64_t> extra_bytes;  // the job's own message sizes; these may lie outside min … max
  int ranks = 2;
};

struct VisitOrder {
  int repeats = 10;  // of each call, over all rounds
  int rounds = 5;
  bool loaded = false;
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t kMostSweepBytes = std::int64_t{1} << 40;

// min, 2 min, 4 min … up to max and the extra ones, each once, ascending. Error (exit status 2): min above max, no bytes, or
// more than 1 TiB.
Result<std::vector<FabricCall>> plan_calls(const SweepRequest& request);

// Of calls that were not made `repeats` times without a load, those whose missing repeats together fit into `left_us`, the
// quickest first. One that was not made at all counts as the one before it: calls of one operation ascend.
std::vector<FabricCall> calls_that_fit(const std::vector<FabricCall>& calls, const std::vector<SweepSample>& made,
                                       int repeats, double left_us);

std::vector<SweepVisit> plan_visits(const std::vector<FabricCall>& calls, const VisitOrder& order);

}  // namespace gradsync
