// Operators that a profile names in the code that handles gradients, and that say how a compression is written: whether
// it counts on the host (nonzero), sorts everything (quantile), asks for sorted results (topk), or sends signs.
#pragma once

#include <cstdint>
#include <map>

#include "analyzers/issued_work.h"

namespace gradsync {

struct CompressionCalls {
  std::int64_t nonzero = 0, quantile = 0, topk = 0, sorted_topk = 0, signs = 0;
};

// By index of the step, with an entry for each in which the profiler named operators. sorted_topk counts calls behind
// whose selection a sort was launched, which only a device's kernels show.
std::map<std::int32_t, CompressionCalls> compression_calls(const RankTimeline& rank, const IssuedWork& work);

}  // namespace gradsync
