// A name for a communicator that is the same on all its ranks, made from what they all passed when it was made.
// Communicators that came about in a way that we do not see (ncclCommInitAll, ncclCommShrink) have none.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nccl_abi.h"

namespace gradsync::nccl {

// 0 when it has none.
uint64_t label_of(Comm comm);

// Changes whenever a communicator gets or loses its label.
uint32_t label_generation();

void label_from_ids(Comm comm, const UniqueId* ids, int count);
// Ranks split a communicator in one order, so the number of the split is theirs too. To be called for a split that
// leaves this rank without one (`made` null), which counts.
void label_from_split(Comm made, uint64_t parent, int color);
void forget_label(Comm comm);

}  // namespace gradsync::nccl
