// Theoretical occupancy of a kernel: how many of a multiprocessor's warps its launch lets be resident, whatever the
// kernel then does. Pure. Method: CUDA's occupancy calculator (cuda_occupancy.h), for compute capability 5.0 on;
// clusters and carve-outs smaller than the multiprocessor's shared memory are left out, so it is an upper bound.
#pragma once

#include <stdint.h>

namespace gradsync::cupti {

// Of one multiprocessor, as cuDeviceGetAttribute tells; 0 = not told.
struct DeviceLimits {
  uint32_t warp_threads, threads, blocks, registers, shared_bytes, reserved_shared_bytes, major;
  uint32_t multiprocessors;  // of the device
};

struct Launch {
  uint32_t block_threads, registers, shared_bytes;  // registers a thread, shared bytes a block
};

// In percent, rounded down; 0 = a limit is missing, or the launch cannot be.
uint32_t occupancy_percent(const DeviceLimits& limits, const Launch& launch);

// Multiprocessors that get a block, in percent, rounded down, at least 1; 0 = not told.
uint32_t multiprocessors_percent(const DeviceLimits& limits, uint64_t blocks);

}  // namespace gradsync::cupti
