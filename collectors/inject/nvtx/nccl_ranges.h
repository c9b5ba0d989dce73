// NCCL's own NVTX ranges become collectives: which operation, how many bytes, on which communicator.
#pragma once

#include <stdint.h>

#include "collectors/inject/nvtx/payload_schema.h"
#include "collectors/inject/nvtx/shape.h"

namespace gradsync::nvtx {

struct Collective {
  uint32_t name;          // string id, the tool's own word: "all_reduce"
  uint64_t bytes;         // 0 = not told (NCCL before 2.16)
  uint64_t communicator;  // its hash; 0 = not told (NCCL before 2.25)
  uint32_t group;         // string id of the hash in hex
  uint32_t sequence;
  uint32_t reduction;  // string id: "sum"; 0 = none or not told
};

// `call` is an index of nccl/calls.h and not 0; `payload` may be null. Counts the call on its communicator.
Collective read_nccl_range(uint32_t call, uint32_t domain, const PayloadBlob* payload);

// The event of one range, 0 when a wrapper of ours has written it already: the range then adds what it knows better.
// Times are those of the call that enqueues: the work itself starts and ends later, hence "extrapolated".
uint64_t write_nccl_range(spool::Lane& lane, uint32_t call, uint32_t domain, const PayloadBlob* payload, Shape shape);

// Interns attribute keys; any number of times.
void prepare_nccl_ranges();

}  // namespace gradsync::nvtx
