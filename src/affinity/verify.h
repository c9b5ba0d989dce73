// Did the interrupts follow their masks? A mask is accepted long before it takes effect: the kernel moves an interrupt
// when it next comes, so one that does not come is pending, which is no failure.
#pragma once

#include <chrono>
#include <vector>

#include "src/affinity/kernel.h"
#include "src/affinity/outcome.h"

namespace gradsync {

struct IrqSeen {
  std::optional<CpuList> allowed, effective;
  std::map<int, double> came;  // since the last look, by CPU
};

// The state of a line whose mask was written, from what is seen of it. `written` stays where nothing decides yet: it
// came since, and not on the wanted CPU.
IrqState judge_line(const CpuList& wanted, const IrqSeen& seen, IrqState before);

// Polls four times a second until all are decided or the time is up; then what is still undecided has failed.
// Interrupted: the user wants to stop.
Waited verify_moves(std::vector<IrqOutcome>& outcomes, IrqKernel& kernel, std::chrono::milliseconds patience);

// Looks at the masks once more: those that somebody changed are reverted.
void look_for_reverts(std::vector<IrqOutcome>& outcomes, IrqKernel& kernel);

}  // namespace gradsync
