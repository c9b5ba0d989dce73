// irq --fix: measure, save, write, verify, measure again, and take it back when it did not help.
//
//   measure ──▶ save ──▶ write ──▶ verify ──▶ measure, guard ──▶ better ─────▶ keep
//                          │          │              ├─▶ no difference shown ─▶ keep with --keep, else restore
//                          ▼          ▼              ├─▶ worse ───────────────▶ restore
//                  restore what failed               └─▶ changed by another ──▶ restore what is still ours
//
// A signal at any time restores. One process at a time, under the lock of the journal's folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/affinity/apply.h"
#include "src/affinity/remedy.h"
#include "src/base/statistics.h"

namespace gradsync {

// One thing that should become smaller, measured in windows.
struct IrqMeasure {
  std::string name, unit;  // "busiest CPU's share of the interrupts", "percent"
  std::vector<double> windows;
};

enum class WhenEqual { restore, keep };  // no difference shown; --keep

struct TransactionOptions {
  std::filesystem::path folder;              // of the journal
  std::chrono::milliseconds patience{5000};  // --verify-seconds
  std::chrono::milliseconds guard{15000};    // irqbalance looks every 10 s
  WhenEqual when_equal = WhenEqual::restore;
};

// What the transaction asks of the command.
struct TransactionInputs {
  IrqSnapshot snapshot;
  IrqPlan plan;
  // The plan over the machine as it is now, after a CPU went offline.
  std::function<Result<std::pair<IrqSnapshot, IrqPlan>>()> plan_again;
  // Windows of each measure; nothing when the user wants to stop.
  std::function<std::optional<std::vector<IrqMeasure>>()> measure;
  std::string time;  // UTC, for the journal
  int pid = 0;
};

enum class TransactionEnd {
  nothing_to_do,
  kept,            // better, or equal with --keep
  restored_equal,  // no difference shown
  restored_worse,
  reverted,       // by another owner
  not_permitted,  // or read-only: nothing is changed
  failed,         // each was refused or failed: nothing is changed
  interrupted,
};
const char* to_string(TransactionEnd end);

struct IrqComparison {
  IrqMeasure before, after;
  std::optional<Difference> change;  // of the medians; nothing when there are too few windows
};

struct TransactionResult {
  TransactionEnd end = TransactionEnd::nothing_to_do;
  std::vector<IrqOutcome> outcomes;
  std::vector<IrqComparison> comparisons;
  std::optional<Remedy> remedy;   // reverted: who, and what to do
  std::filesystem::path journal;  // kept: what --undo reads

  bool complete() const;  // every line moved or pending
};

Result<TransactionResult> run_transaction(TransactionInputs inputs, const TransactionOptions& options,
                                          IrqKernel& kernel);

}  // namespace gradsync
