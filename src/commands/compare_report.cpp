#include "src/commands/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/sample_change.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "version.h"

namespace gradsync {
namespace {

constexpr std::size_t kNamedClasses = 3;

std::string signed_ms(double ms) { return (ms < 0 ? "−" : ms > 0 ? "+" : "") + format_ms(std::abs(ms)); }
std::string signed_number(double ms) { return (ms < 0 ? "−" : ms > 0 ? "+" : "") + format_decimal(std::abs(ms)); }

std::string interval_text(const MeasureChange& one) {
  return fmt::format("{} … {}, p {}", signed_number(*one.low), signed_number(*one.high),
                     *one.p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", *one.p));
}

// "compute −102.4 ms, compress −16.7 ms": the classes that changed, most first.
std::string classes_text(const SetComparison& comparison) {
  std::vector<const MeasureChange*> changed;
  for (const MeasureChange& one : comparison.measures)
    if (one.measure.starts_with("attribution.") &&
        (one.answer == ChangeAnswer::rose || one.answer == ChangeAnswer::fell))
      changed.push_back(&one);
  std::stable_sort(changed.begin(), changed.end(), [](const MeasureChange* a, const MeasureChange* b) {
    return std::abs(*a->change) > std::abs(*b->change);
  });
  changed.resize(std::min(changed.size(), kNamedClasses));
  std::vector<std::string> words;
  for (const MeasureChange* one : changed) {
    std::string name = one->measure.substr(std::string_view("attribution.").size());
    name.resize(name.size() - std::string_view("_ms").size());
    std::replace(name.begin(), name.end(), '_', ' ');
    words.push_back(name + " " + signed_ms(*one->change));
  }
  return join(words, ", ");
}

std::string why_not_tested(const SetComparison& comparison) {
  const MeasureChange& step = comparison.step();
  const bool steps = comparison.compared == ComparedUnit::steps;
  return fmt::format(
      "{} {} of A and {} of B, {}", step.before_n, steps ? "steps" : "runs", step.after_n,
      steps ? "which make fewer than 4 blocks that do not resemble each other on one side: more steps would tell"
            : "fewer than 4 a side cannot show a difference at 5 %");
}

std::string step_text(const SetComparison& comparison) {
  const MeasureChange& step = comparison.step();
  const std::string both = fmt::format("{} in A, {} in B", format_ms(*step.before), format_ms(*step.after));
  if (!step.low)
    return fmt::format("Could not judge whether the step changed: {}. Its medians: {} ({}).",
                       why_not_tested(comparison), both, signed_ms(*step.change));
  if (step.answer == ChangeAnswer::not_shown)
    return fmt::format("No difference of the step shown: {} ({}); {}.", signed_ms(*step.change), interval_text(step),
                       both);
  const std::string classes = classes_text(comparison);
  return fmt::format("The step is {} {} in B ({}), {} of A's: {}.{}", format_ms(std::abs(*step.change)),
                     *step.change > 0 ? "longer" : "shorter", interval_text(step),
                     format_percent(100 * std::abs(*step.change) / *step.before), both,
                     classes.empty() ? "" : " Of it " + classes + ".");
}

std::string names_of(const SetComparison& comparison, FindingChangeKind kind) {
  std::vector<std::string> names;
  for (const FindingChange& one : comparison.findings)
    if (one.kind == kind) names.push_back(one.finding.rule);
  return join(names, ", ");
}

std::vector<std::string> hosts_of_all(const ComparedSet& before, const ComparedSet& after) {
  std::vector<std::string> hosts;
  for (const ComparedSet* set : {&before, &after})
    for (const ComparedRun& run : *set)
      for (const std::string& host : run.report.run.hosts)
        if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  return hosts;
}

}  // namespace

const char* to_string(GateAnswer answer) {
  switch (answer) {
    case GateAnswer::passed:
      return "passed";
    case GateAnswer::regression:
      return "regression";
    case GateAnswer::inconclusive:
      return "inconclusive";
  }
  return "inconclusive";
}

Gate judge_gate(const SetComparison& comparison, double percent) {
  const MeasureChange& step = comparison.step();
  if (!comparison.other_job.empty())
    return {GateAnswer::inconclusive, "not the same job: " + join(comparison.other_job, "; ")};
  if (!step.low || *step.before <= 0) return {GateAnswer::inconclusive, why_not_tested(comparison)};
  const double low = 100 * *step.low / *step.before, high = 100 * *step.high / *step.before;
  const std::string where = fmt::format("the change of the step is between {:+.1f} % and {:+.1f} %, the limit {} %",
                                        low, high, format_short(percent));
  if (low > percent) return {GateAnswer::regression, where};
  return {high <= percent ? GateAnswer::passed : GateAnswer::inconclusive, where};
}

Verdict compare_verdict(const SetComparison& comparison) {
  const MeasureChange& step = comparison.step();
  Verdict verdict;
  verdict.measured = true;
  if (!comparison.other_job.empty())
    verdict.text = "Not the same job: " + join(comparison.other_job, "; ") +
                   ". What follows compares two jobs, and tells nothing of a change to one.\n";
  verdict.text += step_text(comparison);
  if (step.low) {
    const bool shorter = *step.change < 0, shown = step.answer != ChangeAnswer::not_shown;
    verdict.sign = !shown ? VerdictSign::neutral : shorter ? VerdictSign::saves : VerdictSign::costs;
    // Of a saving its size, as everywhere.
    const bool flip = verdict.sign == VerdictSign::saves;
    verdict.ms = flip ? -*step.change : *step.change;
    verdict.p05 = flip ? -*step.high : *step.low;
    verdict.p95 = flip ? -*step.low : *step.high;
  }
  for (const auto& [kind, words] :
       {std::pair{FindingChangeKind::appeared, "New findings"}, {FindingChangeKind::went, "Findings that are gone"}})
    if (const std::string names = names_of(comparison, kind); !names.empty())
      verdict.text += fmt::format("\n{}: {}.", words, names);
  return verdict;
}

Series compared_runs(const ComparedSet& before, const ComparedSet& after) {
  Series series{"compare_runs", {"side", "path", "step_ms", "steps", "ranks"}, {}};
  for (const auto& [side, set] : {std::pair{"A", &before}, {"B", &after}})
    for (const ComparedRun& run : *set)
      series.rows.push_back({std::string(side), run.path, step_time_of(run.report)->value, run.report.run.steps,
                             std::int64_t{run.report.run.ranks}});
  return series;
}

Report compare_report(const ComparedSet& before, const ComparedSet& after, std::optional<double> percent) {
  const SetComparison comparison = compare_sets(before, after);
  const Report& newest = after.back().report;
  Report report;
  report.tool.version = kVersion;
  report.command = "compare";
  report.run.command_line = {before.front().path, after.front().path};
  report.run.hosts = hosts_of_all(before, after);
  report.run.backend = newest.run.backend;
  report.series["compare_runs"] = compared_runs(before, after);
  add_comparison(comparison, report);
  for (const FindingChange& one : comparison.findings)
    if (one.kind == FindingChangeKind::appeared) {
      report.findings.push_back(one.finding);
      report.findings.back().evidence.clear();  // numbers of B's report, not of this one
    }
  report.verdict = compare_verdict(comparison);
  if (!percent) return report;
  const Gate gate = judge_gate(comparison, *percent);
  report.facts["compare.gate"] = to_string(gate.answer);
  report.facts["compare.gate.why"] = gate.why;
  report.verdict.text += fmt::format("\nGate: {}; {}.", to_string(gate.answer), gate.why);
  return report;
}

}  // namespace gradsync
