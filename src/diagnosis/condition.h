// Conditions of rules: tests of metrics and facts, joined by all/any in three-valued logic (Kleene's). What was not
// measured is unknown, so that absent data never makes a finding and never makes "healthy".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/model/metric.h"
#include "src/model/report.h"

namespace gradsync {

enum class Truth { no, unknown, yes };

enum class Comparison { above, below, at_least, at_most };
const char* to_string(Comparison comparison);

struct MetricCondition {
  std::string metric;  // may address a quantile: name@p50
  std::string scope;   // empty: the scope that is being judged, else `all`
  Comparison comparison = Comparison::above;
  double threshold = 0;  // in the metric's own unit
};

enum class FactTest { one_of, at_least, below, present, absent };  // `is` is one_of with one value

struct FactCondition {
  std::string fact;
  FactTest test = FactTest::one_of;
  std::vector<std::string> values;  // one version for at_least and below, none for present and absent
};

struct Condition;

// all: false if one is false, else unknown if one is unknown. any: true if one is true, else unknown likewise. any_known:
// the same of those members that are known, for alternatives of which no subject has all; unknown when none is.
struct ConditionGroup {
  enum class Kind { all, any, any_known };
  Kind kind = Kind::all;
  std::vector<Condition> members;
};

struct Condition {
  std::variant<MetricCondition, FactCondition, ConditionGroup> test;
};

// What a rule is judged on: one scope of one run. Refers to its parts, does not own them.
struct Situation {
  const MetricSet& metrics;
  const Facts& facts;
  std::string scope = "all";
};

// The metric's value in the situation's scope, else in `all`; in `scope` alone when one is named. NaN is not measured.
std::optional<double> measured(const Situation& situation, std::string_view metric, std::string_view scope = {});
// The metric object that measured() takes its value from; nullptr when there is none.
const Metric* find_metric(const Situation& situation, std::string_view metric, std::string_view scope = {});

Truth evaluate(const Condition& condition, const Situation& situation);
Truth evaluate(const ConditionGroup& group, const Situation& situation);

// Names of the metrics and facts whose absence keeps the group unknown, in the order of the rule; facts as "fact NAME".
std::vector<std::string> missing_names(const ConditionGroup& group, const Situation& situation);

// Every metric condition below `group`, in the order of the rule; they live in the group.
std::vector<const MetricCondition*> metric_conditions(const ConditionGroup&& group) = delete;
std::vector<const MetricCondition*> metric_conditions(const ConditionGroup& group);
std::vector<MetricCondition*> metric_conditions(ConditionGroup& group);

// A condition in words: "compress.serial_percent above 3 %", "backend is nccl or gloo", "any of: …".
std::string in_words(const Condition& condition);
std::string in_words(const MetricCondition& condition);

// Order of versions: -1, 0, 1; a pre-release (1.13.0a0, 2.1rc1) is below its release, what follows "+" is ignored.
// Nothing when one of them is not a version.
std::optional<int> compare_versions(std::string_view left, std::string_view right);

}  // namespace gradsync
