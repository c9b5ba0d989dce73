#include "src/diagnosis/known_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>

#include "src/base/text.h"
#include "src/diagnosis/placeholder.h"

namespace gradsync {
namespace {

// `comm.total_ms` as it is; in `phase.<name>_ms` the bracket stands for one word.
std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' && name.find('>', i) != std::string_view::npos) {
      pattern += "[a-z0-9_]+";
      i = name.find('>', i);
    } else if (name[i] == '.') {
      pattern += "\\.";
    } else {
      pattern += name[i];
    }
  }
  return pattern;
}

// The names in backticks of the first column of the table whose heading begins with "| <heading> |".
std::regex listed(std::string_view heading) {
  std::string all;
  bool inside = false;
  for (std::string_view rest = metrics_page(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with("| ")) {
      inside = inside && line.starts_with("|");
      continue;
    }
    const std::string_view first = trim(line.substr(1, line.find(" |", 1) - 1));
    if (first == heading) inside = true;
    if (!inside) continue;
    for (std::size_t at = first.find('`'); at != std::string_view::npos; at = first.find('`', at)) {
      const std::size_t end = first.find('`', at + 1);
      if (end == std::string_view::npos) break;
      all += (all.empty() ? "" : "|") + pattern_of(first.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return std::regex(all, std::regex::optimize);
}

struct Names {
  std::set<std::string> metrics, facts;
};

void collect(const ConditionGroup& group, Names& names);

void collect(const Condition& condition, Names& names) {
  if (const auto* metric = std::get_if<MetricCondition>(&condition.test)) names.metrics.insert(metric->metric);
  if (const auto* fact = std::get_if<FactCondition>(&condition.test)) names.facts.insert(fact->fact);
  if (const auto* group = std::get_if<ConditionGroup>(&condition.test)) collect(*group, names);
}

void collect(const ConditionGroup& group, Names& names) {
  for (const Condition& member : group.members) collect(member, names);
}

Names names_of(const Rule& rule) {
  Names names;
  collect(rule.conditions, names);
  for (const Obstacle& obstacle : rule.not_judged_if) collect(obstacle.when, names);
  names.metrics.insert(rule.saves.begin(), rule.saves.end());
  if (!rule.judged_by.empty()) names.metrics.insert(rule.judged_by);
  std::vector<std::string> texts = rule.advice;
  texts.insert(texts.end(), {rule.title, rule.says, rule.why, rule.where});
  for (const std::string& text : texts)
    for (const std::string& name : metrics_in(text)) {
      constexpr std::string_view kFact = "fact:";
      if (name.starts_with(kFact))
        names.facts.insert(name.substr(kFact.size()));
      else if (name != "scope")
        names.metrics.insert(name);
    }
  return names;
}

// Where the name first stands from the rule's first line on; 0: nowhere.
int line_of(std::string_view text, int first_line, std::string_view name) {
  int line = 1;
  for (std::string_view rest = text; !rest.empty(); ++line) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (line >= first_line && one.find(name) != std::string_view::npos) return line;
  }
  return 0;
}

}  // namespace

std::vector<RuleProblem> unknown_names(const Rule& rule, std::string_view text) {
  static const std::regex metrics = listed("metric"), facts = listed("fact");
  std::vector<RuleProblem> problems;
  const Names names = names_of(rule);
  const auto report = [&](const char* what, const std::string& name) {
    problems.push_back({rule.id, rule.file, line_of(text, rule.line, name),
                        fmt::format("no {} is called {}; docs/metrics.md lists them", what, name)});
  };
  for (const std::string& metric : names.metrics)
    if (!std::regex_match(metric.substr(0, metric.find('@')), metrics)) report("metric", metric);
  for (const std::string& fact : names.facts)
    if (!std::regex_match(fact, facts) && !fact.starts_with("finding.")) report("fact", fact);
  std::sort(problems.begin(), problems.end(),
            [](const RuleProblem& a, const RuleProblem& b) { return a.line < b.line; });
  return problems;
}

}  // namespace gradsync
