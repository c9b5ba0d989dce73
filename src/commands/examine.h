// examine: recording → report, and its second half for events that came from elsewhere. Pure functions of what they are
// given: fixed order, no clock, no look at this machine. The same recording gives the same bytes, with any number of
// threads (each rank is summarised alone, summaries are merged in rank order).
#pragma once

#include <filesystem>
#include <vector>

#include "src/base/result.h"
#include "src/commands/profile_choice.h"
#include "src/diagnosis/rule.h"
#include "src/model/inputs.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

struct ExamineOptions {
  int threads = 1;
  ProfileChoice profiles;  // named on the command line; else a recording's own are used
};

// A recording's ranks, not yet joined (conclude does that), and what is known besides.
struct JobTimelines {
  std::vector<RankTimeline> ranks;
  Inputs inputs;
};
Result<JobTimelines> read_timelines(const std::filesystem::path& recording, const Report& parts, const RuleSet& rules,
                                    int threads);

// Reads the folder; what cannot be read is coverage. Error: not a recording.
Result<Report> examine(const std::filesystem::path& recording, const RuleSet& rules,
                       const ExamineOptions& options = {});

// The same with parts that could not be written into the folder.
Result<Report> examine(const std::filesystem::path& recording, const Report& parts, const RuleSet& rules,
                       const ExamineOptions& options);

// Timelines → report. The ranks are joined here (src/timeline/join_ranks.h). `inputs` carries run, facts, coverage and
// series that are already known.
Report conclude(std::vector<RankTimeline> ranks, Inputs inputs, const RuleSet& rules, const ExamineOptions& options);

}  // namespace gradsync
