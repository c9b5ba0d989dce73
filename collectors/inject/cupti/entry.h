// What the driver looks up in CUDA_INJECTION64_PATH, and what the Python hook calls before the job's own profiler.
#pragma once

#include "src/spool_writer/gsd.h"

extern "C" {
/// Called once by cuInit. Returns 1.
GSD_EXPORT int InitializeInjection(void);
/// The job is about to profile itself: CUPTI is closed now and left to it from here on. Idempotent; any thread.
GSD_EXPORT void gsd_gpu_yield(void);
/// `run --counters`: what is launched from now on compresses the first bucket of a step. Waits for the device in the
/// few steps that are counted, else returns at once. Call it without the interpreter's lock.
GSD_EXPORT void gsd_counters_begin(void);
/// Before the first collective, by the thread that began; a second call does nothing.
GSD_EXPORT void gsd_counters_end(void);
}
