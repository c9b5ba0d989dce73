// Hardware counters of the kernels that compress: of the first bucket of three steps, from the moment when the
// communication hook begins until just before its first collective. Never of NCCL's kernels: the device is idle when it
// begins, any call of NCCL ends it first (collective_guard.h), and where NCCL's calls cannot be seen nothing is read.
//
//   begin ─▶ not now: another step, not the first bucket, NCCL is busy
//         └▶ the device waits for what was launched ─▶ kernels run one after the other ─▶ end ─▶ evaluated, written
//   any error ─▶ off, for good; the fact "counters" says why
#pragma once

#include "collectors/inject/cupti/api.h"

namespace gradsync::cupti {

// Whether GSD_COUNTERS asks for any. From here on their steps are marked, also where nothing can be read.
bool counters_are_wanted();

// At the beginning of each step; `library` is null where CUPTI is not ours, and `why` says why then.
void prepare_counters(uint32_t step, const Library* library, const char* why);

// By the thread that runs the hook, before and after what is to be counted. It may wait for the device.
void begin_counting();
void end_counting();

// For the job's own profiler: what is open is given up.
void yield_counters(const char* why);

// Says what did not come. CUPTI is not asked any more: at an exit the driver may be gone.
void tell_counters_at_exit();

}  // namespace gradsync::cupti
