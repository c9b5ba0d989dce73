// One activity record of CUPTI → what is worth an event. Pure: no library, no clock of its own, no spool.
#pragma once

#include <stdint.h>

#include "collectors/inject/abi/cupti_abi.h"
#include "src/spool_writer/spool_format.h"

namespace gradsync::cupti {

// Record times → CLOCK_MONOTONIC, and the moments between which a record can be true.
struct ClockWindow {
  int64_t offset_ns;  // added to a record's times; 0 where CUPTI stamps with our own clock
  int64_t earliest;
  int64_t latest;
};

struct Activity {
  spool::Kind kind;  // kernel, copy, memset, host_call, host_sync
  const char* name;  // NUL-terminated, mangled as the compiler did it; null: none
  int64_t start_ns, end_ns;
  uint64_t bytes;
  uint32_t correlation;
  uint32_t device, stream;  // of work on a device
  uint32_t thread;          // of calls: the operating system's number; 0 where the record does not tell
  uint32_t graph;           // of a whole graph: its number + 1
  // of kernels
  uint64_t blocks;
  uint32_t block_threads, registers, shared_bytes;
};

enum class Decoded : uint8_t {
  event,
  overhead,  // CUPTI's own; only times are filled in
  ignored,   // a kind or call of no interest
  bad,       // its times cannot be: CUPTI writes 0, or an end before the start, when its buffers on the device ran over
};

// `record` as cuptiActivityGetNextRecord gave it.
Decoded decode(const ActivityRecord* record, const ClockWindow& clock, Activity& activity);

// The copy's name as PyTorch's profiler spells it: "Memcpy DtoH (Device -> Pinned)". Bytes of room: 64.
void copy_name(uint8_t copy, uint8_t source, uint8_t target, char* text);
constexpr uint32_t kCopyNameBytes = 64;

}  // namespace gradsync::cupti
