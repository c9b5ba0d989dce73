// The device whose counters are to be read: what the driver tells of it, and what CUPTI lets be counted there.
#pragma once

#include "collectors/inject/abi/cupti_profiler_abi.h"
#include "collectors/inject/cupti/metrics.h"

namespace gradsync::cupti {

struct Driver {
  int (*get_context)(void** context);
  int (*get_device)(int* device);
  int (*synchronize)();
};

// Of the driver that is loaded already; false when it has not all of it.
bool find_driver(Driver& driver);

struct CountedDevice {
  const char* chip;       // CUPTI's
  uint8_t* availability;  // which counters are free; never freed: asked once per process
  bool started;           // CUPTI's profiler is initialised, also where an error came later
};

// `doing` says what failed, for an answer that is not success.
Status ask_device(const ProfilerFunctions& call, int device, void* context, CountedDevice& found, const char*& doing);

// ": counters are reserved to the administrator", or an empty text.
const char* meaning_of(Status status);

}  // namespace gradsync::cupti
