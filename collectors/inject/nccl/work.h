// What a plug-in's descriptor says, whatever its version.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nccl_abi.h"
#include "collectors/inject/abi/nccl_profiler_abi.h"

namespace gradsync::nccl {

struct Work {
  uint64_t bytes;         // one rank's part, as in NCCL's NVTX ranges
  uint64_t communicator;  // 0 = the descriptor does not say (from version 4)
  uint32_t call;          // index of nccl/calls.h; 0 = an operation that we do not know
  const DataType* type;   // null = not told
  uint32_t algorithm;     // string ids, 0 = not told; "RING", as NCCL's log says it
  uint32_t protocol;      // "LL128"
  uint32_t channels;
};

uint64_t type_of(int version, const void* descriptor);
Work read_collective(int version, const void* descriptor);
Work read_copy_engine(const void* descriptor);  // version 6
Work read_point_to_point(int version, const void* descriptor);

}  // namespace gradsync::nccl
