// Puts masks back: for --undo, and when a transaction is called off. Writing the old mask alone leaves the interrupt
// where it is (the CPU is still inside the mask), so the old CPU is written first, and the mask when the kernel followed.
#pragma once

#include <chrono>
#include <vector>

#include "src/affinity/journal.h"
#include "src/affinity/kernel.h"
#include "src/affinity/outcome.h"

namespace gradsync {

struct RestoreOptions {
  std::chrono::milliseconds patience{2000};  // for one interrupt of each
  bool take_over = false;                    // --force: also masks that somebody else has written since
};

std::vector<IrqOutcome> restore_interrupts(const std::vector<SavedIrq>& saved, IrqKernel& kernel,
                                           const RestoreOptions& options = {});

// Why this journal cannot be undone on this machine; nothing when it can.
std::optional<Error> why_not_restorable(const IrqJournal& journal, const IrqSnapshot& now);

}  // namespace gradsync
