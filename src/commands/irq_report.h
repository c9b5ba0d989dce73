// What `irq` saw, planned and did, as series and facts of a report. Columns: docs/metrics.md.
#pragma once

#include "collectors/host/irq_interval.h"
#include "src/affinity/journal.h"
#include "src/affinity/plan.h"
#include "src/affinity/transaction.h"
#include "src/model/collector.h"
#include "src/model/inputs.h"

namespace gradsync {

struct IrqPicture {
  IrqSnapshot snapshot;
  IrqInterval interval;
  IrqPlan plan;
  RecordingParts timed;  // the series irq with times of handlers, and how they were taken
};

// Series irq, softnet, irq_cpus, irq_devices, irq_plan; facts and coverage.
void add_picture(const IrqPicture& picture, Inputs& inputs);
// Series irq_changes and irq_compared; facts irq.outcome, irq.remedy.
void add_result(const TransactionResult& result, Inputs& inputs);
void add_changes(const std::vector<IrqOutcome>& outcomes, Inputs& inputs);

// "An earlier irq --fix (…) ended in the middle: …"; what check and irq say of a journal that was not consumed.
Coverage earlier_change(const OpenJournal& open);

// For check: can interrupts be counted, can they be moved, and is an earlier change still in place?
std::vector<Coverage> irq_coverage(const IrqRoots& roots, const std::filesystem::path& journals);

}  // namespace gradsync
