// What NCCL's calls and communicators are called in the recording, and the calls counted that ranks issue in one order.
#pragma once

#include <stdint.h>

namespace gradsync::nccl {

// Index of an operation by the name of NCCL's function, which its NVTX range has too ("ncclAllReduce"); 0 = none.
uint32_t call_of(const char* range_name);
// The same for the word that the profiler plug-in gets: "AllReduce".
uint32_t call_of_word(const char* function);

// String id of what the tool calls an operation, "all_reduce".
uint32_t call_name(uint32_t call);
// String id of a reduction: "sum"; "user" for one that the job made.
uint32_t reduction_name(uint64_t operation);

// Ranks issue the collectives of a communicator in one order; sends and receives have none.
bool has_order(uint32_t call);
// Counts the calls of a communicator: the number that finds the same call on other ranks. Null for hash 0, and for one
// too many.
uint32_t* calls_of(uint64_t communicator);

// String id of a communicator's hash, as 16 hex digits; 0 for hash 0.
uint32_t communicator_name(uint64_t hash);

}  // namespace gradsync::nccl
