// sweep --from: the report of sweeps that were measured elsewhere: logs and JSON of nccl-tests, and saved reports of
// this program, whose timed calls are judged anew.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/model/inputs.h"
#include "src/model/report.h"

namespace gradsync {

struct SweepLogs {
  std::vector<std::string> paths;
  std::vector<std::string> command_line;  // behind `sweep`
  Series messages;                        // of the job that is laid on the curve; empty: none
  int job_ranks = 0;
  std::vector<LoadProfile> loads;
};

// Errors: a path that cannot be read, holds no sweep, or is a recording; a saved report among other files.
Result<Report> report_of_logs(const SweepLogs& logs, const RuleSet& rules);

}  // namespace gradsync
