// Handles of the plug-in's events and communicators. NCCL may stop an event after its parent, record a state after the
// stop, or come with a handle of another process: a handle is a serial number, and one that is not in its slot any more
// is ignored. Nothing is ever freed.
#pragma once

#include <stdint.h>

#include "collectors/inject/nccl/next_profiler.h"

namespace gradsync::nccl {

struct PluginCommunicator {
  uint64_t hash;    // NCCL's; 0 = its version does not tell
  uint64_t wanted;  // events for us
  uint64_t next_wanted;
  NextProfiler next;
  void* next_context;
  uint32_t used;  // atomic
};

struct PluginEvent {
  uint64_t serial;  // atomic, written last; 0 while the slot changes hands
  uint64_t type;
  uint64_t event;   // our record
  uint64_t parent;  // serial
  void* next;       // the next plug-in's handle
  const PluginCommunicator* communicator;
  uint64_t device_first_ns, device_last_ns;  // by the GPU's clock, atomics
  int32_t channels_running;                  // atomic: kernel channels that have not stopped yet
  uint32_t stopped;                          // atomic, of a kernel channel: 1 once its end is counted
  bool is_own;                               // its record is ours to end
};

// Null when too many communicators are there at once.
PluginCommunicator* take_communicator();
void give_back(PluginCommunicator* communicator);

// Fills the next slot. Returns the handle.
void* make_handle(const PluginEvent& event);
// Null when the handle is stale or not ours.
PluginEvent* event_of(const void* handle);

}  // namespace gradsync::nccl
