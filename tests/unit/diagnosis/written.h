// Rules, metrics and facts written out in a test.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "src/diagnosis/rule_set.h"

// So that a failed comparison shows both lists.
namespace doctest {
template <>
struct StringMaker<std::vector<std::string>> {
  static String convert(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += "\n    " + line;
    return text.c_str();
  }
};
}  // namespace doctest

namespace gradsync {

// A whole rule file around the lines that a test is about.
inline std::string rule_text(const std::string& id, const std::string& lines, const std::string& severity = "warning") {
  return "id = \"" + id + "\"\nstep = 1\nseverity = \"" + severity + "\"\ntitle = \"Title of " + id +
         "\"\nsays = \"{scope}\"\nwhy = \"Because.\"\ntry = [\"Do it\"]\n" + lines + "\n";
}

inline RuleSet rules_of(const std::vector<std::string>& texts) {
  std::vector<RuleFile> files;
  for (const std::string& text : texts) files.push_back({std::to_string(files.size()) + ".toml", text});
  auto rules = make_rule_set({files});
  REQUIRE_MESSAGE(rules, rules.error().message());
  return std::move(*rules);
}

struct Measured {
  std::string name;
  double value;
  std::string scope = "all";
};

inline MetricSet metrics_of(std::initializer_list<Measured> list) {
  MetricSet metrics;
  for (const Measured& one : list) {
    Metric metric;
    metric.name = one.name;
    metric.scope = one.scope;
    metric.value = one.value;
    metrics.add(metric);
  }
  return metrics;
}

// "rule scope state", one per finding.
inline std::vector<std::string> summary(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    lines.push_back(finding.rule + " " + finding.scope + " " + to_string(finding.state) +
                    (finding.folded_under.empty() ? "" : " under " + finding.folded_under));
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace gradsync
