#include "src/commands/compare_report.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

// A step of 100 ms whose change is known to lie between `low` and `high`; nothing: it was not tested.
SetComparison changed_by(std::optional<double> low, std::optional<double> high, ChangeAnswer answer) {
  SetComparison comparison;
  comparison.compared = ComparedUnit::steps;
  MeasureChange step{.measure = "step.time_ms", .before = 100, .after = 100 + low.value_or(0)};
  step.change = low ? (*low + *high) / 2 : 0;
  step.low = low;
  step.high = high;
  if (low) step.p = 0.01;
  step.answer = answer;
  comparison.measures = {step};
  return comparison;
}

}  // namespace

TEST_CASE("the gate") {
  struct Case {
    std::optional<double> low, high;
    GateAnswer expected;
  };
  for (const Case& c : {Case{6, 9, GateAnswer::regression},
                        {1, 4, GateAnswer::passed},    // longer, and by less than was asked for
                        {-9, -2, GateAnswer::passed},  // shorter
                        {2, 8, GateAnswer::inconclusive},
                        {-3, 5, GateAnswer::passed},  // up to the limit
                        {std::nullopt, std::nullopt, GateAnswer::inconclusive}}) {
    CAPTURE(c.low.value_or(0));
    SetComparison comparison = changed_by(c.low, c.high, c.low ? ChangeAnswer::rose : ChangeAnswer::too_few);
    CHECK(judge_gate(comparison, 5).answer == c.expected);
    comparison.other_job = {"ranks 2 in A, 4 in B"};
    CHECK(judge_gate(comparison, 5).answer == GateAnswer::inconclusive);
  }
}

TEST_CASE("the verdict says the sign, and of a saving its size") {
  struct Case {
    SetComparison comparison;
    VerdictSign sign;
    double ms;
    const char* words;
  };
  for (const Case& c : {Case{changed_by(6, 10, ChangeAnswer::rose), VerdictSign::costs, 8, "8.0 ms longer"},
                        {changed_by(-10, -6, ChangeAnswer::fell), VerdictSign::saves, 8, "8.0 ms shorter"},
                        {changed_by(-1, 3, ChangeAnswer::not_shown), VerdictSign::neutral, 1, "No difference"},
                        {changed_by({}, {}, ChangeAnswer::too_few), VerdictSign::unknown, 0, "Could not judge"}}) {
    const Verdict verdict = compare_verdict(c.comparison);
    CAPTURE(verdict.text);
    CHECK(verdict.sign == c.sign);
    CHECK(verdict.ms == c.ms);
    CHECK(verdict.text.find(c.words) != std::string::npos);
    CHECK(verdict.p05 <= verdict.p95);
  }
}

TEST_CASE("another job is said before anything else") {
  SetComparison comparison = changed_by(6, 10, ChangeAnswer::rose);
  comparison.other_job = {"ranks 2 in A, 4 in B"};
  CHECK(compare_verdict(comparison).text.starts_with("Not the same job: ranks 2 in A, 4 in B."));
}
