#include "src/diagnosis/check_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/diagnosis/diagnose.h"

namespace gradsync {
namespace {

const char* word_of(FindingState state) { return state == FindingState::fired ? "fires" : to_string(state); }

void check_example(const Rule& rule, const Example& example, RuleCheck& check) {
  ++check.examples;
  const Finding finding = judge(rule, {metrics_of_example(example), example.facts, example.scope});
  const auto report = [&](std::string what) {
    check.problems.push_back({rule.id, rule.file, example.line, std::move(what)});
  };
  if (finding.state != example.expect)
    return report(fmt::format("expected {}, got {}{}", word_of(example.expect), word_of(finding.state),
                              finding.says.empty() ? "" : fmt::format(" ({})", finding.says)));
  // An example that fires shows the reader the sentence, so it holds all of its numbers.
  if (finding.state == FindingState::fired && finding.says.find("(not measured)") != std::string::npos)
    report(fmt::format("fires, but a number of its sentence is missing: {}", finding.says));
}

}  // namespace

// "comm.message_bytes" = 24000 and "comm.message_bytes@p90" = 30000 are one metric.
MetricSet metrics_of_example(const Example& example) {
  std::map<std::string, Metric> by_name;
  for (const auto& [written, value] : example.metrics) {
    const std::size_t at = std::min(written.find('@'), written.size());
    const std::string name = written.substr(0, at);
    Metric& metric = by_name[name];
    metric.name = name;
    const std::string quantile = written.substr(at);
    if (quantile == "@p10")
      metric.p10 = value;
    else if (quantile == "@p90")
      metric.p90 = value;
    else if (quantile == "@p50")
      metric.p50 = value;
    else
      metric.value = value;
  }
  MetricSet metrics;
  for (auto& [name, metric] : by_name) {
    if (!example.metrics.contains(name)) metric.value = metric.p50.value_or(metric.value);
    metric.scope = "all";
    metrics.add(metric);
    metric.scope = example.scope;
    metrics.add(metric);
  }
  return metrics;
}

RuleCheck check_rules(const RuleSet& rules) {
  static constexpr std::array kOutcomes{FindingState::fired, FindingState::clean, FindingState::could_not_judge};
  RuleCheck check;
  for (const Rule& rule : rules.rules) {
    ++check.rules;
    for (const FindingState outcome : kOutcomes)
      if (std::none_of(rule.examples.begin(), rule.examples.end(),
                       [&](const Example& example) { return example.expect == outcome; }))
        check.problems.push_back(
            {rule.id, rule.file, rule.line, fmt::format("has no example that expects {}", word_of(outcome))});
    for (const Example& example : rule.examples) check_example(rule, example, check);
  }
  return check;
}

}  // namespace gradsync
