// A swept fabric, or logs of one, as a report: through the same analyzers and rules as everything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/measure_fabric.h"
#include "src/diagnosis/rule.h"
#include "src/model/inputs.h"

namespace gradsync {

struct SweepSetting {
  FabricPlace place;
  Facts facts;                            // of the session
  std::vector<std::string> command_line;  // behind `sweep`
  std::string own_host;
  std::int64_t measured_at = 0;  // seconds since 1970
  Series links;                  // of this host
  Series messages;               // of the job that is laid on the curve; empty: none
  int job_ranks = 0;
  std::vector<LoadProfile> loads;
};

Report sweep_report(SweptFabric swept, const SweepSetting& setting, const RuleSet& rules);

// Hosts of the ranks, sorted; empty where only their number is known.
std::vector<std::string> sweep_hosts(const Facts& facts, const std::string& own_host);

}  // namespace gradsync
