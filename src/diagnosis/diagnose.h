// Metrics and facts → findings. Pure: the same rules, metrics and facts give the same findings in the same order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/diagnosis/rule.h"

namespace gradsync {

// One finding per rule and scope of its for_each; a rule that is clean, or cannot judge, in every scope gives one
// finding for `all`. In printed order:
//
//   fired            errors, then warnings, then infos; within a severity the larger recoverable time first, then the
//                    rule's priority, its step, its id. A symptom that no fired rule explains stands here on its own.
//   fired, folded    symptoms: explained by a finding above, which folded_under names. An error is never folded.
//   could_not_judge  by rule id
//   clean            by rule id
std::vector<Finding> diagnose(const RuleSet& rules, const MetricSet& metrics, const Facts& facts);

// Pairs of fired findings whose advice excludes each other while nothing says which is followed first: neither folds the
// other, and no `before` orders them. A set of rules should have none, whatever was measured.
std::vector<std::pair<std::string, std::string>> contradictions(const RuleSet& rules,
                                                                const std::vector<Finding>& findings);

// One rule in one scope, as diagnose() would judge it; neither collapsed nor folded.
Finding judge(const Rule& rule, const Situation& situation);

}  // namespace gradsync
