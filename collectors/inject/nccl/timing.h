// How long the device worked on a collective, by two CUDA events on its stream around the call (GSD_NCCL_EVENTS=times).
//
// Only where it is asked for: each pair costs the call some microseconds. Nothing waits: a pair is read when a later call
// finds it done. Left alone are streams that are being captured, the default stream (which one it is depends on how the
// caller was compiled), calls whose launch another thread makes, and groups of several calls, whose kernels cannot be
// told apart. At most kPairs are on their way at once; a call beyond them is not timed.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nccl_abi.h"

namespace gradsync::nccl {

constexpr uint32_t kPairs = 256;

bool times_are_wanted();

// Records the first event on `stream`; 0 = this call is not timed, else what the next two take.
uint32_t start_timing(Stream stream);
// Records the second one; `event` gets attributes gpu_ns and gpu_ns_from once both are over.
void end_timing(uint32_t pair, Stream stream, uint64_t event);
void drop_timing(uint32_t pair);

}  // namespace gradsync::nccl
