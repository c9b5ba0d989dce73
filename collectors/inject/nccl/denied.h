// NCCL versions in which the plug-in's events are known to crash the job or to cost too much; each with the report.
#pragma once

#include <stdint.h>

namespace gradsync::nccl {

struct Denied {
  uint64_t events;  // EventType bits; all = the plug-in stays silent
  const char* why;  // null = nothing
};

// `version` as ncclGetVersion tells it (22809 = 2.28.9); 0 = unknown: nothing is denied.
Denied denied_events(int version);

}  // namespace gradsync::nccl
