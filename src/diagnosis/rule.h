// Rule and RuleSet: what rules/*.toml says, as plain data. rules/README.md explains every key.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnosis/condition.h"
#include "src/model/inputs.h"
#include "src/model/report.h"

namespace gradsync {

// A case that the rule must judge as `expect`; the metrics stand in `scope` and in `all`.
struct Example {
  FindingState expect = FindingState::fired;
  std::string scope;                      // all, or one of the rule's for_each
  std::map<std::string, double> metrics;  // names may carry @p10, @p50, @p90
  Facts facts;
  int line = 0;
};

// While `when` holds the rule cannot judge, whatever else was measured.
struct Obstacle {
  Condition when;
  std::string because;
};

struct Rule {
  std::string id;
  int step = 1;
  Severity severity = Severity::warning;
  std::string for_each = "all";
  int priority = 0;                     // decides between findings that could recover the same time
  std::string title, says, why, where;  // texts with placeholders
  std::vector<std::string> advice;      // "try"
  std::vector<std::string> explains;    // ids of rules whose findings are symptoms of this one
  std::vector<std::string> excludes;    // ids of rules whose advice cannot be followed together with this one's
  std::vector<std::string> before;      // of them: those whose advice waits until this one's was followed
  std::vector<std::string> saves;       // metrics; the first that was measured names the saving
  std::string judged_by;                // metric whose resolution is "would have seen"
  std::string hint;                     // what would make the rule judgeable
  std::string known_issue;              // where it was reported, and when that was last looked at; empty: no such rule
  ConditionGroup conditions;            // of kind all
  std::vector<Obstacle> not_judged_if;
  std::map<std::string, std::string> from;  // metric → where its threshold comes from
  std::vector<Example> examples;
  std::string file;
  int line = 0;
};

// One sentence (or two) that heads the report, chosen by the first case whose conditions hold.
struct VerdictCase {
  std::string id;
  std::string text;
  VerdictSign sign = VerdictSign::unknown;
  std::string ms;  // metric that fills Verdict.ms; empty: none
  ConditionGroup conditions;
};

struct VerdictTexts {
  std::vector<VerdictCase> cases;
  std::map<SavingKind, std::string> saving;  // how a saving is worded, by its kind
};

struct RuleSet {
  std::vector<Rule> rules;  // by id
  VerdictTexts verdict;
  std::vector<NameClass> operators, ranges;  // rules/kernels.toml
  std::string version;                       // FNV-1a of everything that was loaded, in hex

  const Rule* find(std::string_view id) const;
  Rule* find(std::string_view id);
};

}  // namespace gradsync
