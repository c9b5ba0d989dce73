// One collective of a sweep as NCCL calls. Counts are those of NCCL's header: all_gather's is what one rank sends,
// reduce_scatter's what one rank receives, all_to_all's what one pair exchanges.
#pragma once

#include "collectors/fabric/backend.h"
#include "collectors/fabric/nccl_library.h"

namespace gradsync {

struct NcclLaunch {
  nccl::Comm comm = nullptr;
  cuda::Stream stream = nullptr;
  const void* send = nullptr;
  void* receive = nullptr;
  int rank = 0, ranks = 1;
};

// Enqueues; the result is there when the stream has come so far.
nccl::Status launch(const NcclLibrary& library, const FabricCall& call, const NcclLaunch& launch);

// "all_reduce of 4096 bytes (float)"
std::string describe(const FabricCall& call);

}  // namespace gradsync
