// CUPTI itself, on and off: which kinds and calls, the clock of the records, the callbacks. One thread at a time.
#pragma once

#include "collectors/inject/cupti/api.h"
#include "collectors/inject/cupti/plan.h"

namespace gradsync::cupti {

class Session {
 public:
  // Loads the library; `why` has room for 256 bytes. The rest only after it returned null.
  const char* load(char* why) { return load_library(library_, why); }

  // Before a context exists and before any kind is enabled: records are stamped with CLOCK_MONOTONIC, unless a profiler
  // is mapped that counts on CUPTI's own clock. Then, and before CUDA 11.6, the offset is measured instead.
  void choose_clock();
  bool stamps_monotonic() const { return stamps_monotonic_; }

  // Starts recording. The answer of the first call that failed; what did start is stopped again then.
  Status enable(BufferRequested requested, BufferCompleted completed, Watch watch, Calls calls);
  void disable();

  void flush(uint32_t flag) { library_.call.flush_all(flag); }
  // Adds to a record's time to make it CLOCK_MONOTONIC.
  int64_t offset_ns() const;
  ActivityRecord* next(uint8_t* buffer, size_t valid_bytes, ActivityRecord* record) const;
  // Since the last question.
  size_t dropped(Context context, uint32_t stream) const;

  const Library& library() const { return library_; }

 private:
  Status enable_calls(Calls calls);
  void disable_calls();

  Library library_;
  bool stamps_monotonic_;
  bool registered_;  // the callbacks, once in a process: again would take them from another tool
  bool by_call_;     // single calls are enabled, not all of them
  ActivityKind enabled_[8];
  uint32_t enabled_count_;
  ThreadIdType thread_ids_before_;
};

}  // namespace gradsync::cupti
