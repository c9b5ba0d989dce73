// One rule in one scope.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/diagnosis/diagnose.h"
#include "src/diagnosis/placeholder.h"

namespace gradsync {
namespace {

double in_ms(double value, std::string_view unit) { return unit == "us" ? value / 1e3 : value; }

// predict.bucket_size.saved_ms has its probability in predict.bucket_size.probability.
std::optional<double> probability_of(const Situation& situation, const std::string& metric) {
  const std::size_t last = metric.rfind('.');
  return measured(situation, metric.substr(0, last) + ".probability");
}

// Only a prediction and a measurement can say what a remedy saves. Any other metric is the time that the remedy works
// on, and what a remedy works on is the most it can save.
std::optional<Saving> saving_by(const std::string& name, const Situation& situation) {
  const auto value = measured(situation, name);
  if (!value) return std::nullopt;
  const std::string unit = unit_of(name);
  const double ms = in_ms(*value, unit);
  const bool predicted = name.starts_with("predict."), by_measuring = name.starts_with("measured.");
  if (!predicted && !by_measuring)
    return ms > 0 ? std::optional(Saving{SavingKind::bound, "ms", ms, ms, ms, {}}) : std::nullopt;
  const Metric* metric = find_metric(situation, name);
  Saving saving{predicted ? SavingKind::predicted : SavingKind::measured, "ms", ms, ms, ms, {}};
  if (metric->p10) saving.p05 = in_ms(*metric->p10, unit);
  if (metric->p90) saving.p95 = in_ms(*metric->p90, unit);
  saving.probability = probability_of(situation, name);
  if (predicted && ms <= 0) return std::nullopt;  // another remedy of the rule may save something
  return saving;
}

std::optional<Saving> saving_of(const Rule& rule, const Situation& situation) {
  for (const std::string& name : rule.saves)
    if (auto saving = saving_by(name, situation)) return saving;
  return std::nullopt;
}

std::vector<std::string> evidence_of(const Rule& rule, const Situation& situation) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, std::string_view scope) {
    if (measured(situation, name, scope) && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  for (const MetricCondition* condition : metric_conditions(rule.conditions)) add(condition->metric, condition->scope);
  for (const std::string& name : metrics_in(rule.says)) add(name, {});
  return names;
}

void describe_fired(const Rule& rule, const Situation& situation, Finding& finding) {
  finding.says = fill(rule.says, situation);
  finding.why = fill(rule.why, situation);
  for (const std::string& advice : rule.advice)
    if (std::string text = fill(advice, situation); !text.empty()) finding.advice.push_back(std::move(text));
  if (!rule.where.empty()) finding.where = fill_if_known(rule.where, situation).value_or("");
  finding.saves = saving_of(rule, situation);
}

void describe_unknown(const Rule& rule, const Situation& situation, Finding& finding) {
  const auto missing = missing_names(rule.conditions, situation);
  finding.says = fmt::format("not measured: {}", join(missing, ", "));
  finding.hint = rule.hint.empty() ? fmt::format("needs {}", join(missing, ", ")) : rule.hint;
}

void describe_clean(const Rule& rule, const Situation& situation, Finding& finding) {
  if (rule.judged_by.empty()) return;
  const Metric* metric = find_metric(situation, rule.judged_by);
  if (metric == nullptr || !metric->resolution) return;
  finding.would_have_seen = metric->resolution;
  finding.would_have_seen_unit = unit_of(rule.judged_by);
}

}  // namespace

Finding judge(const Rule& rule, const Situation& situation) {
  Finding finding;
  finding.rule = rule.id;
  finding.step = rule.step;
  finding.scope = situation.scope;
  finding.severity = rule.severity;
  finding.title = fill(rule.title, situation);
  finding.evidence = evidence_of(rule, situation);
  for (const Obstacle& obstacle : rule.not_judged_if) {
    if (evaluate(obstacle.when, situation) != Truth::yes) continue;
    finding.says = obstacle.because;
    finding.hint = rule.hint;
    return finding;  // could_not_judge
  }
  switch (evaluate(rule.conditions, situation)) {
    case Truth::yes:
      finding.state = FindingState::fired;
      describe_fired(rule, situation, finding);
      break;
    case Truth::unknown:
      describe_unknown(rule, situation, finding);
      break;
    case Truth::no:
      finding.state = FindingState::clean;
      describe_clean(rule, situation, finding);
      break;
  }
  return finding;
}

}  // namespace gradsync
