// Keeps counters off NCCL's kernels, whoever calls it and on whatever thread: before a call of NCCL goes on, a range
// that is being counted is ended.
//
//   counting thread                     a thread that calls NCCL
//   counting = 1                        open += 1
//   open > 0? then not now              counting? then end it, before NCCL launches anything
//
// Each writes its own word before it reads the other's, so at least one of them sees the other.
#pragma once

#include <stdint.h>

#include "src/spool_writer/atomics.h"

namespace gradsync::cupti {

struct CollectiveGuard {
  uint32_t armed;     // 1 = in the steps in which something is counted, and the one before; else nothing is watched
  uint32_t counting;  // 1 = kernels that are launched now are counted
  uint32_t open;      // calls of NCCL that have not returned
  uint32_t seen;      // calls of NCCL since it was armed
  void (*end_range)();
};
extern CollectiveGuard g_collective_guard __attribute__((visibility("hidden")));

void watch_collective();

inline void collective_begins() {
  if (spool::load_relaxed(&g_collective_guard.armed) != 0) watch_collective();
}

// A call that began before the guard was armed is not counted back.
inline void collective_ended() {
  if (spool::load_relaxed(&g_collective_guard.armed) == 0) return;
  uint32_t open = spool::load_relaxed(&g_collective_guard.open);
  while (open > 0 && !spool::replace(&g_collective_guard.open, open, open - 1))
    open = spool::load_relaxed(&g_collective_guard.open);
}

}  // namespace gradsync::cupti
