// Two sets of runs against each other: the step, what it is made of, findings, and what else is not the same. Pure.
//
//   one run each    steps in their order, cut into blocks (src/base/sample_change.h): what would differ between two runs
//                   of the same job is not in the interval, and is said
//   several runs    a run is one observation, its reported value; below 4 runs a side nothing can be shown at 5 %
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

struct ComparedRun {
  std::string path;
  Report report;
};
using ComparedSet = std::vector<ComparedRun>;

enum class ChangeAnswer {
  rose,        // p below 5 %
  fell,        // likewise
  not_shown,   // tested, p above
  too_few,     // steps or runs
  not_tested,  // a number that does not vary from step to step, or is known of one side alone
};
const char* to_string(ChangeAnswer);

struct MeasureChange {
  std::string measure;                  // a metric's name, scope all
  std::optional<double> before, after;  // medians: of steps, or of runs
  std::size_t before_n = 0, after_n = 0;
  std::optional<double> change, low, high;  // after - before, with its 90 % interval where it was tested
  std::optional<double> p;                  // two-sided; of all but the step Holm's, over what was tested beside it
  ChangeAnswer answer = ChangeAnswer::not_tested;
};

enum class FindingChangeKind { appeared, went, stayed, judged_now, not_judged_now };
const char* to_string(FindingChangeKind);

struct FindingChange {
  Finding finding;  // as the newest run that has it tells it
  FindingChangeKind kind = FindingChangeKind::stayed;
  std::optional<double> before_ms, after_ms;    // what it says a cure saves or could; median over runs
  std::size_t before_runs = 0, after_runs = 0;  // in which it fired
};

struct FactChange {
  std::string kind;  // job, version, environment, setting, machine, doctor
  std::string name, before, after;
};

enum class ComparedUnit { steps, runs };  // one run each; several

struct SetComparison {
  ComparedUnit compared = ComparedUnit::runs;
  std::vector<MeasureChange> measures;  // the step first
  std::vector<FindingChange> findings;  // appeared, went, stayed, …
  std::vector<FactChange> facts;
  std::vector<std::string> other_job;  // why these are not the same job; empty: nothing says so
  std::vector<std::string> cautions;   // what limits the answer
  std::size_t block_steps = 0;         // 0: not tested, or runs were compared

  const MeasureChange& step() const { return measures.front(); }
  const MeasureChange* find(std::string_view measure) const;
};

// Neither may be empty; each run has step_time_of().
SetComparison compare_sets(const ComparedSet& before, const ComparedSet& after);

// The metric of scope all; nothing where it was not measured.
const Metric* metric_of(const Report& report, std::string_view name);
// step.time_ms, where it is a length; nothing: the report holds no steps of a job.
const Metric* step_time_of(const Report& report);

// Series compare, compare_findings and compare_facts, metrics compare.*, and facts compare.*.
void add_comparison(const SetComparison& comparison, Report& report);

// Facts, versions and places that are not the same, and why two jobs are not the same one (compare_facts.cpp).
void compare_facts(const ComparedSet& before, const ComparedSet& after, SetComparison& comparison);
// compare_findings.cpp
void compare_findings(const ComparedSet& before, const ComparedSet& after, SetComparison& comparison);

}  // namespace gradsync
