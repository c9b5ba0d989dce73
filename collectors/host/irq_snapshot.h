// Reads an IrqSnapshot from /proc and /sys, or from copies of them below other folders. Needs no privilege. What is
// missing is left out and named in `missing`; only without /proc/interrupts there is nothing to say.
#pragma once

#include <filesystem>
#include <vector>

#include "src/base/result.h"
#include "src/model/irq_snapshot.h"

namespace gradsync {

struct IrqRoots {
  std::filesystem::path proc = "/proc", sys = "/sys";

  bool live() const { return proc == "/proc" && sys == "/sys"; }
};

// `training`: processes whose threads, and those of all that they started, are to be listed; one that is not there is named in `missing`.
Result<IrqSnapshot> read_irq_snapshot(const IrqRoots& roots, const std::vector<int>& training = {});

}  // namespace gradsync
