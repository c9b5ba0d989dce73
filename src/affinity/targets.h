// Where a device's interrupts may go:
//
//   the device's own CPUs ∩ online ∩ --cpus − isolated − nohz_full − CPUs of training threads − their SMT siblings
//
// When nothing is left the exclusions are dropped from the right: first the siblings (those of pinned threads last), then threads that may run on many
// CPUs. Threads that are pinned to a few (they spin there) keep theirs. Another NUMA node only with --force.
#pragma once

#include <optional>
#include <string>

#include "src/model/irq_snapshot.h"

namespace gradsync {

enum class NumaRule { keep_local, any_node };

struct IrqTargets {
  CpuList cpus;
  std::string says;  // how they were chosen; when there are none: why
};

IrqTargets target_cpus(const IrqSnapshot& snapshot, const IrqDevice& device, const std::optional<CpuList>& allowed,
                       NumaRule numa);

// Why an interrupt of this device should not be on `cpu`; "" when nothing speaks against it but the choice above.
std::string objection(const IrqSnapshot& snapshot, const IrqDevice& device, const std::optional<CpuList>& allowed,
                      int cpu);

}  // namespace gradsync
