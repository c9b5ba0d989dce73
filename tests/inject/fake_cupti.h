// A libcupti without a driver: hands out what a client tells it to have seen, in records as long as those of the version
// that FAKE_CUPTI_VERSION names, through the callbacks that were registered last.
//
// It dies loudly of what the collector must never do: subscribe, finalise, call in a forked child, answer a request
// with null, lend a buffer that is not aligned.
#pragma once

#include <stddef.h>
#include <stdint.h>

// As the device or the driver would: dropped unless the kind is on (calls: or this call). Any thread; each has a buffer
// of its own. `record` begins with its kind; `bytes` of it are given, the rest of the record is zero.
typedef void (*fake_emit_fn)(const void* record, size_t bytes);
void fake_cupti_emit(const void* record, size_t bytes);
// The clock of the records now.
typedef uint64_t (*fake_now_fn)(void);
uint64_t fake_cupti_now(void);
// CUPTI lost this many.
typedef void (*fake_drop_fn)(size_t records);
void fake_cupti_drop(size_t records);
// How many kinds and single calls are on.
typedef int (*fake_enabled_fn)(void);
int fake_cupti_enabled(void);
