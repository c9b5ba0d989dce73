// The collector of what the device does, through CUPTI's activity interface.
//
//   InitializeInjection (inside cuInit) ── begin() ──▶ waiting ── a step of the plan begins ──▶ open
//                                                        ▲                                       │ its last step ended
//                                                        └───────────────────────────────────────┘
//   another tool, or CUPTI refuses: ──▶ off, for good                    exit: close, forced flush, read, say what was lost
//
// Records arrive in buffers that a thread of ours empties, at least each second. CUPTI is never subscribed to (that has
// one place in a process, and the job's own profiler wants it), never finalised (crashes jobs), and never called in a
// forked child (hangs there).
#pragma once

#include <stdint.h>

namespace gradsync::cupti {

// Reads GSD_CUPTI. Once per process, before the first device context.
void begin();

// Another profiler of this job is about to start: gives CUPTI to it, and does not take it again.
void yield_to_job();

// Known to tests: as at exit, and what a forked child inherits.
void finish();

}  // namespace gradsync::cupti
