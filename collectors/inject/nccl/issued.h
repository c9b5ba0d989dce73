// One NCCL call is seen by up to three of us: the wrapper (arguments), NCCL's own NVTX range inside it (payload), and the
// profiler plug-in when the work is launched (algorithm, protocol, channels), which in a group is at its end and may be
// on another thread. It becomes one event: whoever comes first writes it, the others add what they know.
//
//   ncclAllReduce (wrapper)    writes the event: bytes from the arguments
//     NVTX "ncclAllReduce"     refines it: bytes and communicator from the payload
//     ncclGroupEnd …
//       plug-in, Coll          finds it among the issued calls: attributes algorithm, protocol, channels
#pragma once

#include <stdint.h>

namespace gradsync::nccl {

struct IssuedCall {
  uint64_t event;         // reference
  uint64_t bytes;         // 0 = not told
  uint64_t communicator;  // NCCL's hash; 0 = not told
  uint32_t name;          // string id: "all_reduce"
};

// Issued calls are kept from the moment when a plug-in is there to ask for them.
void keep_issued_calls();

// Returns a ticket for communicator_became_known, 0 when calls are not kept.
uint64_t remember_issued(const IssuedCall& call);
// What is learned of it later; 0 = nothing.
void refine_issued(uint64_t ticket, uint64_t bytes, uint64_t communicator);

// The oldest issued call that `work` can be, which is forgotten; its event, else 0. Unknown bytes and communicators fit
// all. Of the last kIssued calls only.
uint64_t take_issued(const IssuedCall& work);
inline constexpr uint32_t kIssued = 256;

// True once any call came by NVTX or a wrapper: the plug-in's sends and receives are then parts of calls known already.
bool calls_are_reported();

}  // namespace gradsync::nccl
