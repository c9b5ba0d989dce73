// The page of a rule: what it looks for, where its thresholds come from, what to do. For `explain` and `rules`.
#pragma once

#include <string>
#include <vector>

#include "src/diagnosis/rule.h"

namespace gradsync {

struct RuleThreshold {
  std::string text;  // "compress.serial_percent above 3 %"
  std::string from;  // where the number comes from; empty for conditions on facts
};

struct RulePage {
  std::string id, title, severity, for_each, why;
  int step = 0;
  std::vector<RuleThreshold> thresholds;  // all of them must hold
  std::vector<std::string> not_judged;    // "the hook has not begun to compress (compression.started is no)"
  std::vector<std::string> advice;
  std::vector<std::string> explains;      // its symptoms
  std::vector<std::string> explained_by;  // rules that fold this one
  std::vector<std::string> order;         // "before, and not together with: tuning-cliff"
  std::string saves, judged_by, hint, known_issue;
  std::string file;
};

// Placeholders in the texts stay visible: there is no run to take numbers from.
RulePage explain(const RuleSet& rules, const Rule& rule);

}  // namespace gradsync
