// Names of a rule that this program knows nothing of: metrics and facts that docs/metrics.md, embedded when the program
// is built, does not list. Such a rule can never fire, and would say so to nobody.
#pragma once

#include <string_view>
#include <vector>

#include "src/diagnosis/check_rules.h"

namespace gradsync {

// The text of docs/metrics.md.
std::string_view metrics_page();

// One problem for each unknown name, at the line of `text` (the rule's file) where it first stands.
std::vector<RuleProblem> unknown_names(const Rule& rule, std::string_view text);

}  // namespace gradsync
