// What `irq --fix` compares before and after: things that should become smaller, each normalised so that more or less
// traffic changes nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "collectors/host/irq_interval.h"
#include "src/affinity/plan.h"
#include "src/affinity/transaction.h"

namespace gradsync {

// Run and wait time of the training's threads, from their schedstat; nothing where none can be read.
struct ThreadTimes {
  double run_ns = 0, wait_ns = 0;
};
std::optional<ThreadTimes> thread_times(const IrqRoots& roots, const std::vector<IrqThread>& threads);

// What one window shows of the planned interrupts. Too few interrupts show nothing.
std::vector<IrqMeasure> measures_of(const IrqInterval& interval, const IrqPlan& plan, const IrqSnapshot& snapshot);

// Windows of equal length, one after the other; nothing when a wait was interrupted.
std::optional<std::vector<IrqMeasure>> measure_windows(const IrqRoots& roots, const IrqPlan& plan,
                                                       const IrqSnapshot& snapshot, IrqKernel& kernel,
                                                       std::chrono::milliseconds all);

// The clock of IrqCounters.
double steady_seconds();

}  // namespace gradsync
