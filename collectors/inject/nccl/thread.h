// What a thread remembers of its NCCL calls, in one place: every look at a thread-local of a loaded library is a call.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nccl_abi.h"
#include "collectors/inject/recent_names.h"
#include "src/spool_writer/lane.h"

namespace gradsync::nccl {

// The wrapper that the thread is in, and its event.
struct OpenCall {
  uint64_t event;  // 0 = none
  uint64_t ticket;
  uint32_t name;
};

// What is known of a communicator; looked up again when the thread calls another one, or any was made or destroyed.
struct KnownCommunicator {
  Comm comm;
  uint32_t generation;
  uint32_t group;   // string id
  uint32_t* calls;  // counts them; null when it has no label
};

// Of the group that the thread has open: NCCL launches at its end.
struct OpenGroup {
  uint32_t depth, calls;
  uint32_t pair;  // of nccl/timing.h, around the first call; 0 = not timed
  Stream stream;
  uint64_t event;
};

struct NcclThread {
  OpenCall open;
  uint32_t depth;  // of wrappers: ncclBcast calls ncclBroadcast, only the job's own call is an event
  spool::Lane* lane;
  KnownCommunicator last;
  OpenGroup group;
  RecentNames names;
};
extern __thread NcclThread t_nccl __attribute__((visibility("hidden")));

}  // namespace gradsync::nccl
