// Calls of the device's interface as the CUPTI collector writes them: the thread that reads its buffers writes what other
// threads called, and names the caller by the operating system's number, in `sequence`.
#pragma once

#include "src/timeline/rank_timeline.h"

namespace gradsync {

// Puts such calls on their thread's lane, so that they stand inside the ranges of that thread. A synchronisation that is
// there as a call and as CUPTI's record of the waiting becomes one: the call, as a host_sync; the record is a mark then.
void place_device_calls(RankTimeline& rank);

}  // namespace gradsync
