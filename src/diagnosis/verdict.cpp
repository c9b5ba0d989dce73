#include "src/diagnosis/verdict.h"

#include <algorithm>
#include <cmath>

#include "src/diagnosis/placeholder.h"

namespace gradsync {
namespace {

int gravity(std::string_view state) { return state == "fired" ? 2 : state == "could_not_judge" ? 1 : 0; }

void add_states(const std::vector<Finding>& findings, Facts& facts) {
  facts["worst"] = "none";
  std::optional<Severity> worst;
  for (const Finding& finding : findings) {
    std::string& state = facts["finding." + finding.rule];
    if (state.empty() || gravity(to_string(finding.state)) > gravity(state)) state = to_string(finding.state);
    if (finding.state == FindingState::fired) worst = std::max(worst.value_or(finding.severity), finding.severity);
  }
  if (worst) facts["worst"] = to_string(*worst);
}

// A metric whose quantiles are the ends of an interval.
Metric interval_metric(std::string name, double middle, double low, double high) {
  Metric metric;
  metric.name = std::move(name);
  metric.value = middle;
  metric.p10 = low;
  metric.p50 = middle;
  metric.p90 = high;
  return metric;
}

void add_first(const VerdictTexts& texts, const Finding& first, MetricSet& metrics, Facts& facts) {
  facts["first.rule"] = first.rule;
  facts["first.title"] = first.title;
  facts["first.says"] = first.says;
  facts["first.where"] = first.where;
  facts["first.scope"] = scope_in_words(first.scope);
  facts["first.saving"] = first.saves ? to_string(first.saves->kind) : "none";
  if (!first.saves) return;
  metrics.add(interval_metric("first.saved_ms", first.saves->p50, first.saves->p05, first.saves->p95));
  facts["first.saves"] = fill(texts.saving.at(first.saves->kind), {metrics, facts, "all"});
}

void add_number(const VerdictCase& chosen, MetricSet& metrics, Verdict& verdict) {
  const Metric* metric = chosen.ms.empty() ? nullptr : metrics.find(chosen.ms, "all");
  if (metric == nullptr || std::isnan(metric->value)) return;
  const double low = metric->p10.value_or(metric->value), high = metric->p90.value_or(metric->value);
  const bool either_sign = low < 0 && high > 0;  // then nothing has a sign that could be left out
  verdict.ms = either_sign ? metric->value : std::abs(metric->value);
  verdict.p05 = either_sign ? low : std::min(std::abs(low), std::abs(high));
  verdict.p95 = either_sign ? high : std::max(std::abs(low), std::abs(high));
  verdict.measured = chosen.ms.starts_with("measured.");
  metrics.add(interval_metric("verdict.ms", verdict.ms, verdict.p05, verdict.p95));
}

}  // namespace

Verdict verdict(const RuleSet& rules, const std::vector<Finding>& findings, const MetricSet& metrics,
                const Facts& facts) {
  MetricSet known = metrics;
  Facts said = facts;
  add_states(findings, said);
  if (!findings.empty() && findings.front().state == FindingState::fired)
    add_first(rules.verdict, findings.front(), known, said);
  Verdict verdict;
  for (const VerdictCase& one : rules.verdict.cases) {
    if (evaluate(one.conditions, {known, said, "all"}) != Truth::yes) continue;
    verdict.sign = one.sign;
    add_number(one, known, verdict);
    verdict.text = fill(one.text, {known, said, "all"});
    return verdict;
  }
  return verdict;
}

}  // namespace gradsync
