// Predicted against measured: the report of a job before a remedy was applied, and the one of its run afterwards. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzers/compare.h"
#include "src/base/result.h"
#include "src/commands/track_record.h"
#include "src/diagnosis/rule.h"
#include "src/model/report.h"

namespace gradsync {

struct Promise {
  SavingKind kind = SavingKind::predicted;  // or bound: all three are the most that it can save
  Estimate saved;                           // ms of a step
};

struct Verification {
  std::string remedy;                // empty: not known
  std::string how;                   // how that is known; else why it is not
  std::vector<std::string> choices;  // remedies that REPORT speaks of, where none is known
  std::optional<Promise> promise;
  SetComparison comparison;
  std::optional<Estimate> measured;  // saved per step; nothing: the step was not tested
  std::string answer;                // fact verify.answer
  std::vector<FindingChange> cured;  // findings that the remedy was for
};

// Remedies that the report speaks of: predicted, bounded or not judged.
std::vector<std::string> remedies_of(const Report& report);

// Error (3): a report of something else, or without steps.
Result<void> may_verify(const Report& before, const std::string& path);

// `named`: --remedy, or empty. Both reports have steps.
Verification verify(const ComparedRun& before, const ComparedRun& after, const std::string& named,
                    const RuleSet& rules);

// The run's report becomes that of `verify`.
void add_verification(const Verification& verification, const ComparedRun& before, Report& report);

// Why it is not kept: not predicted, not tested, or the job is not otherwise the same.
Result<TriedChange> verified_change(const Verification& verification, const Report& after, std::int64_t now);

}  // namespace gradsync
