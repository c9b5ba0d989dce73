// What a log of nccl-tests can say about cliffs: it holds one time for each size and place, so it proves nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzers/fabric_curves.h"

namespace gradsync {

// Drops of at least a quarter at the same size in at least two columns (places or runs) that saw it, and in no fewer
// than half of those: each against what the fit of its own smaller sizes says their bytes cost.
struct Suspicion {
  std::int64_t from_bytes = 0, to_bytes = 0, until_bytes = 0;
  double drop = 0;  // the smallest of the columns'
  std::int64_t columns = 0;
};

struct UnstableSizes {
  std::int64_t from_bytes = 0, to_bytes = 0;
  double jump = 0;  // the largest ratio of two columns' times for one size
};

struct LogAnswer {
  std::vector<Suspicion> suspected;
  std::optional<UnstableSizes> unstable;  // at least two sizes whose columns differ four-fold: an order of calls shows,
                                          // not the size
};

// Columns of one operation, type and number of ranks.
LogAnswer suspect_cliffs(const std::vector<FabricCurve>& columns);

}  // namespace gradsync
