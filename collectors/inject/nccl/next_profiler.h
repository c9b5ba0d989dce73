// The plug-in that was set before us: NCCL loads one only, so we load the other one and pass everything on that it asks
// for. Its handles are kept beside ours; where a descriptor names a parent, it sees its own.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/nccl_profiler_abi.h"

namespace gradsync::nccl {

struct NextProfiler {
  int version;  // of the table that is used: NCCL's, or the newest from 4 on where NCCL speaks 5 or 6; 0 = there is none
  StartEvent start;
  StopEvent stop;
  RecordState record;
  Finalize finalize;
  const void* table;
};

// What NCCL passes to init, in any version.
struct InitArguments {
  uint64_t communicator;
  const char* communicator_name;
  int nodes, ranks, rank;
  void* log;
};

// The next plug-in for a NCCL that speaks `version`; its GSD_NEXT_NCCL_PROFILER is loaded once.
NextProfiler next_profiler(int version);

// Returns the events that it wants, 0 when it refuses.
uint64_t initialise(const NextProfiler& next, const InitArguments& arguments, void** context);

// The descriptor as the next plug-in may see it, in `room` of 128 bytes. Parents are its own handles.
struct Parents {
  void* parent;
  void* group;  // from version 5 on: the group, which version 4 calls the parent
};
void* translated(const NextProfiler& next, int version, const void* descriptor, const Parents& parents, void* room);

}  // namespace gradsync::nccl
