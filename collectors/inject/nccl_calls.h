// NCCL's own NVTX ranges, read as collectives: which operation, how many bytes, on which communicator.
#pragma once

#include <stdint.h>

#include "collectors/inject/payload_schema.h"

namespace gradsync::nvtx {

// Index of the NCCL operation that a range is named after ("ncclAllReduce"); 0 = none.
uint32_t nccl_call_of(const char* range_name);
// The same for the word that the profiler plug-in gets: "AllReduce".
uint32_t nccl_call_of_function(const char* function);

struct Collective {
  uint32_t name;          // string id, the tool's own word: "all_reduce"
  uint64_t bytes;         // 0 = not told (NCCL before 2.16)
  uint64_t communicator;  // its hash; 0 = not told (NCCL before 2.25)
  uint32_t group;         // string id of the hash in hex
  uint32_t sequence;
  uint32_t reduction;  // string id: "sum"; 0 = none or not told
};

// String id of what the tool calls an operation, "all_reduce".
uint32_t nccl_call_name(uint32_t call);
// String id of a reduction: "sum"; "user" for one that the job made.
uint32_t reduction_name(uint64_t operation);

// Ranks issue the collectives of a communicator in one order; sends and receives have none.
bool has_order(uint32_t call);
// Counts the calls of a communicator: the number that finds the same call on other ranks. Null for hash 0, and for one
// too many.
uint32_t* calls_of(uint64_t communicator);

// String id of a communicator's hash, as 16 hex digits; 0 for hash 0.
uint32_t communicator_name(uint64_t hash);

// `call` is not 0; `payload` may be null. Counts the call on its communicator.
Collective read_nccl_call(uint32_t call, uint32_t domain, const PayloadBlob* payload);

}  // namespace gradsync::nvtx
