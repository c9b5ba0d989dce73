// NVIDIA's driver, as far as the launcher asks: is it here, and what do collectors see without it.
#pragma once

#include "src/model/report.h"

namespace gradsync {

// For CUDA 13.0: 13000, in the driver's own words; 0 = there is none that answers. Starts nothing on the device.
int nvidia_driver_version();

// What to install so that `library` of the driver is found.
inline constexpr const char* kDriverHint =
    "install NVIDIA's driver (nvidia-smi then lists the GPUs); in a container start it with the GPUs "
    "(docker run --gpus all) and the capabilities compute,utility (NVIDIA_DRIVER_CAPABILITIES)";

// Without a driver: adds to the entry that it is what a machine with one would give, and how to get there.
void note_missing_driver(Coverage& coverage);

}  // namespace gradsync
