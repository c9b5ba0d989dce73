// Which part of a collective's transfer is start-up, where the fabric was measured with this many ranks.
#pragma once

#include <algorithm>
#include <cmath>

#include "analyzers/fabric_cost.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// 0: not known. The fit must be of as many ranks as the job has, for start-up grows with them.
inline Nanoseconds startup_ns(const Inputs& inputs, const RankTimeline& rank, const Event* collective) {
  if (!inputs.fabric || collective == nullptr || collective->bytes <= 0) return 0;
  const int ranks = inputs.fabric->ranks;
  if (ranks != inputs.run.ranks && std::to_string(ranks) != rank.fact("world_size")) return 0;
  const std::string operation(rank.name(*collective));
  const auto us = startup_us(*inputs.fabric, operation, static_cast<double>(collective->bytes));
  return us ? static_cast<Nanoseconds>(std::llround(*us * 1000)) : 0;
}

// Of a stretch from `start` to `end`, what lies in the `startup` after the last rank was ready.
inline Nanoseconds startup_within(Nanoseconds start, Nanoseconds end, Nanoseconds last_ready, Nanoseconds startup) {
  return std::max<Nanoseconds>(0, std::min(end, last_ready + startup) - std::max(start, last_ready));
}

}  // namespace gradsync
