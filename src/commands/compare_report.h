// The report of `compare`, its verdict, and the gate of continuous integration. Pure.
#pragma once

#include <optional>
#include <string>

#include "analyzers/compare.h"
#include "src/model/report.h"

namespace gradsync {

enum class GateAnswer { passed, regression, inconclusive };
const char* to_string(GateAnswer);

struct Gate {
  GateAnswer answer = GateAnswer::inconclusive;
  std::string why;
};

// A regression: the lower end of the step's change is above `percent` of A's step. Passed: the upper end is not above it.
// Inconclusive: neither, nothing was tested, or it is not the same job.
Gate judge_gate(const SetComparison& comparison, double percent);

// What happened to the step, in a sentence or two; sign `costs` where it became longer, `saves` where shorter.
Verdict compare_verdict(const SetComparison& comparison);

// The series compare_runs.
Series compared_runs(const ComparedSet& before, const ComparedSet& after);

// Findings that appeared are its findings; those of A and B are in the series compare_findings. `percent`: the gate's, if
// it was asked for; its answer is the fact compare.gate.
Report compare_report(const ComparedSet& before, const ComparedSet& after, std::optional<double> percent);

}  // namespace gradsync
