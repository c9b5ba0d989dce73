// NCCL as a FabricBackend: one rank a process, each on a GPU of its own (the n-th rank of a host takes its n-th GPU),
// out of place, timed by CUDA events.
//
//   FabricTiming::device_us   from before the launch of one collective until it is done on this GPU: what a job sees that
//                             launches it, waiting for the other ranks included
//   FabricTiming::graph_us    the same collective from a graph that was captured in prepare(): kGraphCalls calls in a
//                             row up to kGraphSmall bytes, one above, divided by their number. Absent on all ranks when
//                             one of them cannot capture; the fact nccl.graph says why
//
// Nothing on a GPU is touched before connect(), so a process may still fork until then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectors/fabric/backend.h"
#include "src/base/result.h"

namespace gradsync {

inline constexpr int kGraphCalls = 8;
inline constexpr std::int64_t kGraphSmall = std::int64_t{1} << 20;

// Finds and loads CUDA and NCCL. Error: what was tried, what is too old, what helps.
Result<std::unique_ptr<FabricBackend>> make_nccl_backend();

// Whether CUDA shows a GPU here and NCCL can be loaded. Asked in a process of its own, because a process that asked CUDA
// cannot fork ranks any more; false when that takes longer than half a minute.
bool nccl_has_devices();

}  // namespace gradsync
