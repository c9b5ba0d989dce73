#include "src/commands/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzers/predict/applied_remedy.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/compare_report.h"
#include "src/commands/exit_status.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr std::string_view kSaved = ".saved_ms";

// "predict.fp16_hook.saved_ms" → "fp16_hook"; empty: another metric.
std::string remedy_in(std::string_view metric, std::string_view stem) {
  if (!metric.starts_with(stem) || !metric.ends_with(kSaved)) return "";
  metric.remove_prefix(stem.size());
  metric.remove_suffix(kSaved.size());
  return metric == "together" ? "" : std::string(metric);
}

std::optional<Promise> promise_of(const Report& report, const std::string& remedy) {
  if (const Metric* metric = metric_of(report, "predict." + remedy + ".saved_ms"))
    return Promise{SavingKind::predicted,
                   {metric->p10.value_or(metric->value), metric->value, metric->p90.value_or(metric->value)}};
  if (const Metric* metric = metric_of(report, "bound." + remedy + ".saved_ms"))
    return Promise{SavingKind::bound, {metric->value, metric->value, metric->value}};
  return std::nullopt;
}

const Rule* rule_of(const RuleSet& rules, const std::string& id) {
  const auto found =
      std::find_if(rules.rules.begin(), rules.rules.end(), [&](const Rule& one) { return one.id == id; });
  return found == rules.rules.end() ? nullptr : &*found;
}

// The remedy whose prediction the finding shows as its saving; empty: none.
std::string promised_by(const Finding& finding, const Report& report, const RuleSet& rules) {
  const Rule* rule = rule_of(rules, finding.rule);
  const bool predicted = finding.state == FindingState::fired && finding.saves &&
                         finding.saves->kind == SavingKind::predicted && rule != nullptr;
  if (!predicted) return "";
  for (const std::string& name : rule->saves)
    if (metric_of(report, name) != nullptr) return remedy_in(name, "predict.");
  return "";
}

bool is_for(const Rule& rule, const std::string& remedy) {
  return std::any_of(rule.saves.begin(), rule.saves.end(), [&](const std::string& name) {
    return remedy_in(name, "predict.") == remedy || remedy_in(name, "bound.") == remedy;
  });
}

void find_remedy(const ComparedRun& before, const ComparedRun& after, const std::string& named, const RuleSet& rules,
                 Verification& verification) {
  if (!named.empty()) {
    verification.remedy = named;
    verification.how = "named with --remedy";
    return;
  }
  const std::vector<AppliedRemedy> applied = applied_remedies(before.report, after.report);
  if (applied.size() == 1) {
    verification.remedy = applied.front().remedy;
    verification.how = "by what changed: " + applied.front().sign;
    return;
  }
  std::vector<std::string> promised;
  for (const Finding& finding : before.report.findings)
    if (const std::string remedy = promised_by(finding, before.report, rules);
        !remedy.empty() && std::find(promised.begin(), promised.end(), remedy) == promised.end())
      promised.push_back(remedy);
  if (applied.empty() && promised.size() == 1) {
    verification.remedy = promised.front();
    verification.how = "the only one that findings of the report predict a saving for";
    return;
  }
  for (const AppliedRemedy& one : applied) verification.choices.push_back(one.remedy);
  if (applied.empty()) verification.choices = remedies_of(before.report);
  std::vector<std::string> signs;
  for (const AppliedRemedy& one : applied) signs.push_back(one.sign);
  verification.how =
      applied.empty() ? "nothing that a remedy changes is different" : "more than one changed: " + join(signs, "; ");
}

std::string answer_of(const Verification& verification) {
  const MeasureChange& step = verification.comparison.step();
  if (!verification.measured) return "could not judge";
  if (step.answer == ChangeAnswer::not_shown) return "no difference shown";
  if (step.answer == ChangeAnswer::rose) return "the step became longer";
  if (!verification.promise) return "shorter, and nothing was predicted";
  const Estimate &was = verification.promise->saved, &is = *verification.measured;
  if (verification.promise->kind == SavingKind::bound)
    return is.p05 > was.p50 ? "more than the bound" : "within the bound";
  if (is.p95 < was.p05) return "less than predicted";
  return is.p05 > was.p95 ? "more than predicted" : "as predicted";
}

std::string estimate_text(const Estimate& saved) {
  const auto sign = [](double ms) { return ms < 0 ? "+" : "−"; };  // what is saved is taken off the step
  return fmt::format("{}{} ({} … {})", sign(saved.p50), format_ms(std::abs(saved.p50)), format_decimal(saved.p05),
                     format_decimal(saved.p95));
}

std::string promise_text(const Verification& verification) {
  if (!verification.promise) return "the report predicts nothing for it";
  if (verification.promise->kind == SavingKind::bound)
    return "at most " + format_ms(verification.promise->saved.p50) + " to save";
  return "predicted " + estimate_text(verification.promise->saved);
}

const char* state_text(FindingChangeKind kind) {
  if (kind == FindingChangeKind::went) return "is gone";
  return kind == FindingChangeKind::not_judged_now ? "could not be judged" : "is still there";
}

std::string cured_text(const Verification& verification) {
  std::vector<std::string> words;
  for (const FindingChange& one : verification.cured) words.push_back(one.finding.rule + " " + state_text(one.kind));
  return join(words, ", ");
}

std::string verdict_text(const Verification& verification) {
  std::string text;
  if (verification.remedy.empty()) {
    text = "Which remedy was applied is not known: " + verification.how + ".";
    if (!verification.choices.empty()) text += " Name it with --remedy: " + join(verification.choices, ", ") + ".";
  } else {
    const std::string measured = verification.measured ? "measured " + estimate_text(*verification.measured) : "";
    text = fmt::format("{} ({}): {}{}{}: {}.", verification.remedy, verification.how, promise_text(verification),
                       measured.empty() ? "" : ", ", measured, verification.answer);
  }
  if (const std::string cured = cured_text(verification); !cured.empty()) text += "\nWhat it was for: " + cured + ".";
  return text;
}

void add_metrics(const Verification& verification, Report& report) {
  const auto add = [&](std::string name, const Estimate& saved, std::size_t n, std::string source) {
    Metric metric{.name = std::move(name), .value = saved.p50, .source = std::move(source)};
    metric.n = static_cast<std::int64_t>(n);
    metric.p10 = saved.p05;
    metric.p90 = saved.p95;
    report.metrics.push_back(metric);
  };
  const MeasureChange& step = verification.comparison.step();
  if (verification.promise) add("verify.predicted_ms", verification.promise->saved, 1, "the report before");
  if (!verification.measured) return;
  add("verify.measured_ms", *verification.measured, step.before_n + step.after_n, "compare");
  if (verification.promise && verification.promise->kind == SavingKind::predicted)
    report.metrics.push_back({.name = "verify.prediction_error_percent",
                              .value = 100 * (verification.promise->saved.p50 - verification.measured->p50) /
                                       std::max(*step.before, *step.after),
                              .source = "compare"});
}

}  // namespace

std::vector<std::string> remedies_of(const Report& report) {
  std::vector<std::string> remedies;
  const auto add = [&](const std::string& remedy) {
    if (!remedy.empty() && std::find(remedies.begin(), remedies.end(), remedy) == remedies.end())
      remedies.push_back(remedy);
  };
  for (const SeriesRow& row : rows_of(report, "whatif")) add(row.text("remedy"));
  for (const Metric& metric : report.metrics) {
    add(remedy_in(metric.name, "predict."));
    add(remedy_in(metric.name, "bound."));
  }
  return remedies;
}

Result<void> may_verify(const Report& before, const std::string& path) {
  const auto steps = before.series.find("steps");
  const bool has_steps = steps != before.series.end() && !steps->second.rows.empty();
  if (has_steps && step_time_of(before) != nullptr) return {};
  const bool of_a_job = before.command.empty() || before.command == "run" || before.command == "analyze";
  return Error{"cannot verify against", path,
               of_a_job ? "it holds no steps" : "it is a report of " + before.command + " and holds no steps of a job",
               "gradsync-doctor run --json FILE -- CMD, before anything is changed", exit_status::kNothingUsable};
}

Verification verify(const ComparedRun& before, const ComparedRun& after, const std::string& named,
                    const RuleSet& rules) {
  Verification verification;
  verification.comparison = compare_sets({before}, {after});
  find_remedy(before, after, named, rules, verification);
  if (!verification.remedy.empty()) verification.promise = promise_of(before.report, verification.remedy);
  const MeasureChange& step = verification.comparison.step();
  if (step.low) verification.measured = Estimate{-*step.high, -*step.change, -*step.low};
  verification.answer = answer_of(verification);
  for (const FindingChange& one : verification.comparison.findings) {
    const Rule* rule = rule_of(rules, one.finding.rule);
    if (one.before_runs > 0 && rule != nullptr && is_for(*rule, verification.remedy)) verification.cured.push_back(one);
  }
  return verification;
}

void add_verification(const Verification& verification, const ComparedRun& before, Report& report) {
  report.command = "verify";
  report.series["compare_runs"] = compared_runs({before}, {{"this run", report}});
  add_comparison(verification.comparison, report);
  add_metrics(verification, report);
  report.facts["verify.answer"] = verification.answer;
  report.facts["verify.remedy.how"] = verification.how;
  if (!verification.remedy.empty()) report.facts["verify.remedy"] = verification.remedy;
  if (!verification.choices.empty()) report.facts["verify.choices"] = join(verification.choices, ", ");
  if (const std::string cured = cured_text(verification); !cured.empty()) report.facts["verify.findings"] = cured;
  Verdict verdict = compare_verdict(verification.comparison);
  verdict.text = verdict_text(verification) + "\n" + verdict.text;
  report.verdict = verdict;
}

Result<TriedChange> verified_change(const Verification& verification, const Report& after, std::int64_t now) {
  const auto no = [](const std::string& why) { return Error{"not kept", "", why, "", exit_status::kDone}; };
  const SetComparison& comparison = verification.comparison;
  if (verification.remedy.empty()) return no("which remedy was applied is not known");
  if (!verification.promise || verification.promise->kind != SavingKind::predicted) return no("it was not predicted");
  if (!verification.measured) return no("too few steps to test");
  for (const FactChange& one : comparison.facts) {
    const bool same_job = (one.kind == "job" && one.name == "command") || one.kind == "doctor";
    if (!same_job && !changes_fact(verification.remedy, one.name))
      return no("the job is not otherwise the same: " + one.name + " " + one.before + " → " + one.after);
  }
  TriedChange change;
  change.at = now;
  change.change = verification.remedy;
  change.step_ms = std::max(*comparison.step().before, *comparison.step().after);
  change.predicted = verification.promise->saved;
  change.measured = *verification.measured;
  change.tool = after.tool.version;
  change.hosts = after.run.hosts;
  change.backend = after.run.backend;
  change.ranks = after.run.ranks;
  change.cpus = after.run.cpus;
  change.versions = after.run.versions;
  return change;
}

}  // namespace gradsync
