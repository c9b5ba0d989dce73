// On which NUMA nodes a device's interrupts are served and the training's threads may run, in words.
#pragma once

#include <string>

#include "src/model/irq_snapshot.h"

namespace gradsync {

// "mlx5@0000:1b:00.0 is on node 0, its 16 queues are served on node 0 (14), node 1 (2); training: …". Empty on machines of
// one node, and of devices that know none.
std::string numa_text(const IrqSnapshot& snapshot);

}  // namespace gradsync
