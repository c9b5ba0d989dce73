#include "src/report/parts/outcomes.h"

#include <algorithm>
#include <iterator>

#include "src/report/parts/words.h"

namespace gradsync {
namespace {

std::string reason_of(const Finding& finding) { return finding.says.empty() ? "nothing measured it" : finding.says; }

constexpr std::string_view kNotMeasured = "not measured: ";  // how the diagnosis begins a list of metrics

std::string name_with_scopes(const Outcome& outcome, const std::vector<const Finding*>& findings) {
  const bool whole = outcome.fired.size() + outcome.clean.size() + outcome.unjudged.size() == findings.size();
  if (whole) return outcome.rule;
  std::vector<std::string> scopes;
  for (const Finding* finding : findings) scopes.push_back(scope_text(finding->scope));
  return outcome.rule + " (" + listed(scopes) + ")";
}

// Rules of no diagnostic step are kept together.
int known_step(int step) { return step >= 1 && step <= 4 ? step : 0; }

}  // namespace

bool only_lacks(const std::string& reason, const std::string& hint) {
  return !hint.empty() && reason.starts_with(kNotMeasured);
}

std::vector<Outcome> outcomes_of(const Report& report) {
  std::vector<Outcome> outcomes;
  for (const Finding& finding : report.findings) {
    auto outcome = std::find_if(outcomes.begin(), outcomes.end(),
                                [&](const Outcome& known) { return known.rule == finding.rule; });
    if (outcome == outcomes.end())
      outcome = outcomes.insert(outcomes.end(), Outcome{finding.rule, known_step(finding.step)});
    switch (finding.state) {
      case FindingState::fired:
        outcome->fired.push_back(&finding);
        break;
      case FindingState::clean:
        outcome->clean.push_back(&finding);
        break;
      case FindingState::could_not_judge:
        outcome->unjudged.push_back(&finding);
        break;
    }
  }
  return outcomes;
}

std::vector<Unjudged> unjudged_of(const std::vector<Outcome>& outcomes, GroupBy by) {
  std::vector<Unjudged> groups;
  for (const Outcome& outcome : outcomes) {
    std::vector<const Finding*> left = outcome.unjudged;
    while (!left.empty()) {
      const Finding& first = *left.front();
      const auto others = std::stable_partition(left.begin(), left.end(), [&](const Finding* finding) {
        return finding->says == first.says && finding->hint == first.hint;
      });
      const std::string name = name_with_scopes(outcome, {left.begin(), others});
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const Unjudged& group) {
        const bool alike =
            by == GroupBy::hint && only_lacks(group.reason, group.hint) && only_lacks(reason_of(first), first.hint);
        return (alike || group.reason == reason_of(first)) && group.hint == first.hint;
      });
      if (same == groups.end())
        groups.push_back({{name}, reason_of(first), first.hint});
      else
        same->rules.push_back(name);
      left.erase(left.begin(), others);
    }
  }
  return groups;
}

std::vector<Outcome> in_step(const std::vector<Outcome>& outcomes, int step) {
  std::vector<Outcome> found;
  std::copy_if(outcomes.begin(), outcomes.end(), std::back_inserter(found),
               [step](const Outcome& outcome) { return outcome.step == step; });
  return found;
}

bool said_by_step_line(const std::vector<Outcome>& of_step) {
  const bool fired = std::any_of(of_step.begin(), of_step.end(), [](const Outcome& o) { return !o.fired.empty(); });
  return !fired && unjudged_of(of_step).size() == 1;
}

}  // namespace gradsync
