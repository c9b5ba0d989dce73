#include "src/diagnosis/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::string_view kMixed = "mixed: ";

Truth truth(bool value) { return value ? Truth::yes : Truth::no; }

Truth compare(const MetricCondition& condition, double value) {
  switch (condition.comparison) {
    case Comparison::above:
      return truth(value > condition.threshold);
    case Comparison::below:
      return truth(value < condition.threshold);
    case Comparison::at_least:
      return truth(value >= condition.threshold);
    case Comparison::at_most:
      return truth(value <= condition.threshold);
  }
  return Truth::unknown;
}

Truth holds(const MetricCondition& condition, const Situation& situation) {
  const auto value = measured(situation, condition.metric, condition.scope);
  return value ? compare(condition, *value) : Truth::unknown;
}

Truth test_value(const FactCondition& condition, std::string_view value) {
  if (condition.test == FactTest::one_of)
    return truth(std::find(condition.values.begin(), condition.values.end(), value) != condition.values.end());
  const auto order = compare_versions(value, condition.values.front());
  if (!order) return Truth::unknown;
  return truth(condition.test == FactTest::at_least ? *order >= 0 : *order < 0);
}

Truth holds(const FactCondition& condition, const Situation& situation) {
  const auto found = situation.facts.find(condition.fact);
  const bool present = found != situation.facts.end() && !found->second.empty();
  if (condition.test == FactTest::present) return truth(present);
  if (condition.test == FactTest::absent) return truth(!present);
  if (!present) return Truth::unknown;
  std::string_view rest = found->second;
  if (!rest.starts_with(kMixed)) return test_value(condition, rest);
  // Ranks that disagree ("mixed: gloo, nccl"): known only when the answer is the same for each of their values.
  rest.remove_prefix(kMixed.size());
  std::optional<Truth> common;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const Truth one = test_value(condition, trim(rest.substr(0, comma)));
    if (common && *common != one) return Truth::unknown;
    common = one;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return common.value_or(Truth::unknown);
}

Truth any_known(const ConditionGroup& group, const Situation& situation) {
  Truth result = Truth::unknown;
  for (const Condition& member : group.members) {
    const Truth one = evaluate(member, situation);
    if (one == Truth::yes) return one;
    if (one == Truth::no) result = one;
  }
  return result;
}

Truth holds(const ConditionGroup& group, const Situation& situation) { return evaluate(group, situation); }

void collect_missing(const Condition& condition, const Situation& situation, std::vector<std::string>& names) {
  if (evaluate(condition, situation) != Truth::unknown) return;
  std::string name;
  if (const auto* metric = std::get_if<MetricCondition>(&condition.test)) {
    name = metric->metric;
  } else if (const auto* fact = std::get_if<FactCondition>(&condition.test)) {
    name = "fact " + fact->fact;
  } else {
    for (const Condition& member : std::get<ConditionGroup>(condition.test).members)
      collect_missing(member, situation, names);
    return;
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

template <class Group, class Found>
void collect_metrics(Group& group, std::vector<Found>& found) {
  for (auto& member : group.members) {
    if (auto* metric = std::get_if<MetricCondition>(&member.test)) found.push_back(metric);
    if (auto* inner = std::get_if<ConditionGroup>(&member.test)) collect_metrics(*inner, found);
  }
}

std::string words_of(const MetricCondition& condition) { return in_words(condition); }

std::string words_of(const FactCondition& condition) {
  switch (condition.test) {
    case FactTest::one_of:
      return fmt::format("{} is {}", condition.fact, join(condition.values, " or "));
    case FactTest::at_least:
      return fmt::format("{} is at least {}", condition.fact, condition.values.front());
    case FactTest::below:
      return fmt::format("{} is below {}", condition.fact, condition.values.front());
    case FactTest::present:
      return fmt::format("{} is known", condition.fact);
    case FactTest::absent:
      return fmt::format("{} is not known", condition.fact);
  }
  return condition.fact;
}

const char* to_string(ConditionGroup::Kind kind) {
  switch (kind) {
    case ConditionGroup::Kind::all:
      return "all";
    case ConditionGroup::Kind::any:
      return "any";
    case ConditionGroup::Kind::any_known:
      return "any that is known";
  }
  return "all";
}

std::string words_of(const ConditionGroup& group) {
  std::vector<std::string> words;
  for (const Condition& member : group.members) {
    const bool nested = std::holds_alternative<ConditionGroup>(member.test);
    words.push_back(nested ? "(" + in_words(member) + ")" : in_words(member));
  }
  return fmt::format("{} of: {}", to_string(group.kind), join(words, "; "));
}

}  // namespace

const char* to_string(Comparison comparison) {
  switch (comparison) {
    case Comparison::above:
      return "above";
    case Comparison::below:
      return "below";
    case Comparison::at_least:
      return "at_least";
    case Comparison::at_most:
      return "at_most";
  }
  return "above";
}

std::optional<double> measured(const Situation& situation, std::string_view metric, std::string_view scope) {
  const auto known = [&](std::string_view where) {
    const auto value = situation.metrics.value(metric, where);
    return value && !std::isnan(*value) ? value : std::nullopt;
  };
  if (!scope.empty()) return known(scope);
  const auto own = known(situation.scope);
  return own ? own : known("all");
}

const Metric* find_metric(const Situation& situation, std::string_view metric, std::string_view scope) {
  const std::string_view name = metric.substr(0, metric.find('@'));
  if (!scope.empty()) return situation.metrics.find(name, scope);
  const Metric* own = situation.metrics.find(name, situation.scope);
  return own != nullptr ? own : situation.metrics.find(name, "all");
}

Truth evaluate(const Condition& condition, const Situation& situation) {
  return std::visit([&](const auto& test) { return holds(test, situation); }, condition.test);
}

Truth evaluate(const ConditionGroup& group, const Situation& situation) {
  if (group.kind == ConditionGroup::Kind::any_known) return any_known(group, situation);
  const bool all = group.kind == ConditionGroup::Kind::all;
  const Truth decides = all ? Truth::no : Truth::yes;
  Truth result = all ? Truth::yes : Truth::no;
  for (const Condition& member : group.members) {
    const Truth one = evaluate(member, situation);
    if (one == decides) return decides;
    if (one == Truth::unknown) result = Truth::unknown;
  }
  return result;
}

std::vector<std::string> missing_names(const ConditionGroup& group, const Situation& situation) {
  std::vector<std::string> names;
  collect_missing(Condition{group}, situation, names);
  return names;
}

std::vector<const MetricCondition*> metric_conditions(const ConditionGroup& group) {
  std::vector<const MetricCondition*> found;
  collect_metrics(group, found);
  return found;
}

std::vector<MetricCondition*> metric_conditions(ConditionGroup& group) {
  std::vector<MetricCondition*> found;
  collect_metrics(group, found);
  return found;
}

std::string in_words(const MetricCondition& condition) {
  static constexpr const char* kWords[] = {"above", "below", "at least", "at most"};
  const std::string scope = condition.scope.empty() ? "" : fmt::format(" of {}", condition.scope);
  return fmt::format("{}{} {} {}", condition.metric, scope, kWords[static_cast<int>(condition.comparison)],
                     format_value(condition.threshold, unit_of(condition.metric)));
}

std::string in_words(const Condition& condition) {
  return std::visit([](const auto& test) { return words_of(test); }, condition.test);
}

}  // namespace gradsync
