// Writes the masks of a plan, device by device. When one of a device fails the whole device is put back; an interrupt
// that the kernel keeps to itself is skipped and fails nothing.
#pragma once

#include <vector>

#include "src/affinity/journal.h"
#include "src/affinity/kernel.h"
#include "src/affinity/outcome.h"
#include "src/affinity/plan.h"

namespace gradsync {

struct Applied {
  std::vector<IrqOutcome> outcomes;  // one for each move
  bool stopped = false;              // read-only, or not permitted: nothing further was tried
  bool cpu_gone = false;             // plan again
};

// `saved` holds each moved line as it was; what is really written goes into its `written`.
Applied apply_moves(const std::vector<IrqPlanLine>& moves, std::vector<SavedIrq>& saved, IrqKernel& kernel);

// The lines of `snapshot` that a plan moves, as they are now.
std::vector<SavedIrq> lines_to_save(const IrqSnapshot& snapshot, const std::vector<IrqPlanLine>& moves);

}  // namespace gradsync
