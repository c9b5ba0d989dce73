// Runs the examples that every rule carries: the self-check behind `rules --check`.
#pragma once

#include <string>
#include <vector>

#include "src/diagnosis/rule.h"

namespace gradsync {

struct RuleProblem {
  std::string rule;
  std::string file;
  int line = 0;      // of the example; 0: the rule itself
  std::string what;  // "expected fires, got could_not_judge (not measured: step.count)"
};

struct RuleCheck {
  int rules = 0;
  int examples = 0;
  std::vector<RuleProblem> problems;

  bool passed() const { return problems.empty(); }
};

// What the example's metrics are to the rules: in its own scope and in `all`.
MetricSet metrics_of_example(const Example& example);

// Every rule has at least one example of each outcome, and judges each of its examples as it says.
RuleCheck check_rules(const RuleSet& rules);

}  // namespace gradsync
