// The CUPTI library of this process: the copy that is mapped already, else one that fits the runtime and the driver. A
// second copy would fight the first over the one registration that CUPTI has.
#pragma once

#include "collectors/inject/abi/cupti_abi.h"

namespace gradsync::cupti {

constexpr size_t kPathBytes = 4096;

struct Library {
  Functions call;
  uint32_t version;  // CUPTI_API_VERSION of the loaded library
  char path[kPathBytes];
  void* handle;
};

// Null, or why there is none: a constant, or `why`, which has room for 256 bytes.
const char* load_library(Library& library, char* why);

// Looks up every function in an open library; the same answer.
const char* resolve(void* handle, Library& library, char* why);

// Whether there is, or can come, a framework whose profiler reads CUPTI's times as CLOCK_REALTIME: that clock is left alone.
bool has_profiling_framework();

}  // namespace gradsync::cupti
