/* The C ABI of libgradsync_inject.so: the one way events enter a spool.
 *
 * Callers: our own NVTX and NCCL callbacks, and Python through ctypes at the library's absolute path.
 * Every function may be called from any thread at any time, also before the spool exists, after fork,
 * and when the disk is full: it never blocks on us, never fails visibly, never prints; what cannot be
 * kept is counted in the spool's header. Nothing is written unless GSD_RECORDING names a recording.
 *
 * A value that must be an event reference and is 0 is ignored, so results need no checking. A reference is opaque: its
 * low 32 bits are the record's index in the file, the others tell a child process from its parent. */
#pragma once
#include <stdint.h>

#define GSD_ABI_VERSION 1
#define GSD_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

GSD_EXPORT uint32_t gsd_abi_version(void);

/* 1 when a spool is (or can be) open in this process, else 0. */
GSD_EXPORT int gsd_enabled(void);

/* CLOCK_MONOTONIC in nanoseconds: the clock of every stamp. */
GSD_EXPORT int64_t gsd_now(void);

/* Id of a string, the same for equal strings within a process and its forked children; length < 0: NUL-terminated.
 * 0 = empty, or could not. */
GSD_EXPORT uint32_t gsd_string(const char* text, int64_t length);

/* What an event is, packed so that one call stays cheap: kind | phase << 8 | source << 16 | flags << 24 | name << 32. */
#define GSD_WHAT(kind, phase, source, flags, name)                                                   \
  ((uint64_t)(uint8_t)(kind) | (uint64_t)(uint8_t)(phase) << 8 | (uint64_t)(uint8_t)(source) << 16 | \
   (uint64_t)(uint8_t)(flags) << 24 | (uint64_t)(uint32_t)(name) << 32)
/* Where it belongs: group string id | sequence << 32. */
#define GSD_WHERE(group, sequence) ((uint64_t)(uint32_t)(group) | (uint64_t)(uint32_t)(sequence) << 32)

/* Starts an event now; its end stays open until gsd_end. Returns its reference, 0 when dropped. */
GSD_EXPORT uint64_t gsd_begin(uint64_t what, uint64_t bytes, uint64_t where);
/* Ends it now; any thread may. A second call is ignored. */
GSD_EXPORT void gsd_end(uint64_t event);
/* A whole event with its own stamps (CLOCK_MONOTONIC ns); start == end makes a mark. */
GSD_EXPORT uint64_t gsd_event(uint64_t what, uint64_t bytes, uint64_t where, int64_t start_ns, int64_t end_ns);
/* Links an event to another one (kernel to launch, wait to collective). */
GSD_EXPORT void gsd_link(uint64_t event, uint64_t correlation);

GSD_EXPORT void gsd_attr_int(uint64_t event, uint32_t key, int64_t value);
GSD_EXPORT void gsd_attr_str(uint64_t event, uint32_t key, uint32_t value);
/* A fact about this process (rank, torch version, a patch that failed); the last value of a key counts. */
GSD_EXPORT void gsd_fact(const char* key, const char* value);

/* Closes the running step at `boundary_ns` and opens the next one there; the first call opens step 0.
 * variant and deep describe the step that now begins. Returns the reference of the new step record. */
GSD_EXPORT uint64_t gsd_step(int64_t boundary_ns, uint32_t variant, uint32_t deep);
/* Marks the open step as (partly) inside a profiler window. */
GSD_EXPORT void gsd_step_deep(void);
/* Number of the open step, 0xffffffff before the first. */
GSD_EXPORT uint32_t gsd_current_step(void);

/* A deep window: open returns a reference for gsd_window_close; file = the profile's name inside the
 * recording's windows/ folder. Clock pairs go to it as attributes (see collectors/torch). */
GSD_EXPORT uint64_t gsd_window(uint32_t file);
GSD_EXPORT void gsd_window_close(uint64_t window);

/* Adds self-measured nanoseconds spent in a caller's own bookkeeping (the Python hook's). */
GSD_EXPORT void gsd_self_ns(uint64_t ns);
/* Called by exit handlers: this process says goodbye. Idempotent. */
GSD_EXPORT void gsd_goodbye(void);

#ifdef __cplusplus
}
#endif
