// What NCCL launches becomes records here; nccl/profiler.cpp speaks to NCCL and to the next plug-in.
#pragma once

#include "collectors/inject/nccl/slots.h"

namespace gradsync::nccl {

// Interns attribute keys and names; any number of times.
void prepare_names();

// A proxy operation may belong to a collective of another process, whose handles mean nothing here.
bool is_of_this_process(uint64_t type, const void* descriptor);

// Fills `event.event` and what else a start tells; `parent` may be null.
void record_start(int version, const void* descriptor, PluginEvent* parent, PluginEvent& event);

// The last channel tells how long the collective's kernel ran: both ends are stamps of one GPU's clock.
void stop_kernel(uint64_t globaltimer_ns, PluginEvent& parent);

}  // namespace gradsync::nccl
