#include "src/diagnosis/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/text.h"

namespace gradsync {
namespace {

// Reasons of every metric below the condition, each once: a nested group is one line.
std::string reasons(const Rule& rule, const Condition& condition) {
  std::vector<std::string> found;
  const ConditionGroup group{ConditionGroup::Kind::all, {condition}};
  for (const MetricCondition* metric : metric_conditions(group)) {
    const auto from = rule.from.find(metric->metric);
    if (from != rule.from.end() && std::find(found.begin(), found.end(), from->second) == found.end())
      found.push_back(from->second);
  }
  return join(found, "; ");
}

bool has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What of its advice excludes that of others, and whose is followed first: "before, and not together with: a, b".
std::vector<std::string> order_of(const RuleSet& rules, const Rule& rule) {
  std::map<std::string, std::vector<std::string>> others;
  for (const Rule& other : rules.rules) {
    const bool before = has(rule.before, other.id), after = has(other.before, rule.id);
    const bool excluded = has(rule.excludes, other.id) || has(other.excludes, rule.id);
    std::string how = before ? "before" : after ? "after" : "";
    if (excluded) how += how.empty() ? "not together with" : ", and not together with";
    if (!how.empty()) others[how].push_back(other.id);
  }
  std::vector<std::string> order;
  for (const auto& [how, ids] : others) order.push_back(how + ": " + join(ids, ", "));
  return order;
}

}  // namespace

RulePage explain(const RuleSet& rules, const Rule& rule) {
  RulePage page;
  page.id = rule.id;
  page.title = rule.title;
  page.severity = to_string(rule.severity);
  page.for_each = rule.for_each;
  page.why = rule.why;
  page.step = rule.step;
  for (const Condition& condition : rule.conditions.members)
    page.thresholds.push_back({in_words(condition), reasons(rule, condition)});
  for (const Obstacle& obstacle : rule.not_judged_if)
    page.not_judged.push_back(fmt::format("{} ({})", obstacle.because, in_words(obstacle.when)));
  page.advice = rule.advice;
  page.explains = rule.explains;
  for (const Rule& other : rules.rules)
    if (std::find(other.explains.begin(), other.explains.end(), rule.id) != other.explains.end())
      page.explained_by.push_back(other.id);
  page.order = order_of(rules, rule);
  page.known_issue = rule.known_issue;
  page.saves = join(rule.saves, ", else ");
  page.judged_by = rule.judged_by;
  page.hint = rule.hint;
  page.file = rule.file;
  return page;
}

}  // namespace gradsync
