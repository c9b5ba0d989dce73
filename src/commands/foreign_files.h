// Files that people already have, read for `analyze`.
#pragma once

#include <filesystem>
#include <vector>

#include "src/base/result.h"
#include "src/model/inputs.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// Several files joined: the ranks of one job, and the tables beside them.
struct ForeignJob {
  std::vector<RankTimeline> ranks;
  Inputs inputs;  // series, facts, coverage; run is left to the caller
};
// Reads with up to `threads` threads. A file that cannot be used is coverage, with the reason and the hint; when none
// can, the first one's error.
Result<ForeignJob> read_foreign_files(const std::vector<std::filesystem::path>& files,
                                      const std::vector<NameClass>& range_classes, int threads);

}  // namespace gradsync
