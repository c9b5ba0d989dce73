#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/diagnosis/parse_condition.h"
#include "src/diagnosis/rule_set.h"

namespace gradsync {
namespace {

Error cannot_set(std::string_view setting, std::string why, const std::vector<std::string>& choices) {
  return Error{"cannot set", fmt::format("'{}'", setting), std::move(why),
               choices.empty() ? "write --set RULE.METRIC=VALUE" : fmt::format("can be set: {}", join(choices, ", ")),
               2};
}

std::vector<std::string> settable_of(const Rule& rule) {
  std::vector<std::string> choices;
  for (const MetricCondition* condition : metric_conditions(rule.conditions))
    choices.push_back(fmt::format("{}.{}={}", rule.id, condition->metric,
                                  format_value(condition->threshold, unit_of(condition->metric))));
  return choices;
}

}  // namespace

std::vector<std::string> settable(const RuleSet& rules) {
  std::vector<std::string> choices;
  for (const Rule& rule : rules.rules)
    for (std::string& choice : settable_of(rule)) choices.push_back(std::move(choice));
  return choices;
}

Result<void> set_threshold(RuleSet& rules, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  const std::size_t dot = setting.find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot > equals)
    return cannot_set(setting, "RULE.METRIC=VALUE is expected", {});
  const std::string_view id = trim(setting.substr(0, dot));
  const std::string_view metric = trim(setting.substr(dot + 1, equals - dot - 1));
  Rule* rule = rules.find(id);
  if (rule == nullptr) return cannot_set(setting, fmt::format("there is no rule '{}'", id), settable(rules));
  std::vector<MetricCondition*> matching;
  for (MetricCondition* condition : metric_conditions(rule->conditions))
    if (condition->metric == metric) matching.push_back(condition);
  if (matching.empty())
    return cannot_set(setting, fmt::format("the rule has no threshold on '{}'", metric), settable_of(*rule));
  if (matching.size() > 1)
    return Error{"cannot set", fmt::format("'{}'", setting),
                 fmt::format("the rule has {} thresholds on '{}'", matching.size(), metric),
                 "write a rule with the same id and give its folder with --rules", 2};
  const auto threshold = parse_threshold(setting.substr(equals + 1), metric);
  if (!threshold)
    return Error{"cannot set", fmt::format("'{}'", setting), threshold.error().why, threshold.error().hint, 2};
  rule->from[std::string(metric)] = fmt::format("--set; built in: {}", in_words(*matching.front()));
  matching.front()->threshold = *threshold;
  // The version names what judged the run: a changed threshold is another rule set.
  rules.version = fnv1a(rules.version + '\0' + std::string(setting));
  return {};
}

}  // namespace gradsync
