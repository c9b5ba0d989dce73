// What became of each rule over all its scopes, and the groupings of it that several parts of the report show.
#pragma once

#include <string>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

struct Outcome {
  std::string rule;
  int step = 0;                                        // 1 to 4; 0: none of the four
  std::vector<const Finding*> fired, clean, unjudged;  // by scope, in the report's order
};

// One per rule, in order of first appearance.
std::vector<Outcome> outcomes_of(const Report& report);

// Rules that could not be judged for the same reason, or that the same thing would make judgeable.
struct Unjudged {
  std::vector<std::string> rules;  // "late-rank (rank 1)" where other scopes were judged
  std::string reason;
  std::string hint;
};
// A reason that lists metrics, with a hint that says what would bring them.
bool only_lacks(const std::string& reason, const std::string& hint);

enum class GroupBy { reason, hint };  // hint: of those that only lack metrics
std::vector<Unjudged> unjudged_of(const std::vector<Outcome>& outcomes, GroupBy by = GroupBy::reason);

// A step whose line in the list of diagnostic steps says all there is to say about what could not be judged:
// nothing fired and there is one reason.
bool said_by_step_line(const std::vector<Outcome>& of_step);

std::vector<Outcome> in_step(const std::vector<Outcome>& outcomes, int step);

}  // namespace gradsync
