// One side of `compare`: a report, a recording, or a folder that holds several of them.
#pragma once

#include <string>
#include <vector>

#include "analyzers/compare.h"
#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/model/report.h"

namespace gradsync {

struct ComparedInput {
  ComparedSet runs;                // with a step time; of a folder sorted by name
  std::vector<Coverage> left_out;  // what a folder holds besides
};

// Recordings are examined with `rules`; reports are taken as they were judged. Errors (3): no such path, neither report
// nor recording, nothing with steps in it.
Result<ComparedInput> compared_input(const std::string& path, const RuleSet& rules);

// Of a report or a recording alone.
Result<Report> report_at(const std::string& path, const RuleSet& rules);

}  // namespace gradsync
