// One event of a Chrome trace as it stands in the file: text and numbers, no meaning yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/model/event.h"

namespace gradsync {

// What `cat` says, old and new spellings together. `none` = there is no cat (autograd profiler without Kineto).
enum class TraceCategory : std::uint8_t {
  none,
  other,              // a word not listed here
  kernel,             // kernel, Kernel
  copy,               // gpu_memcpy, Memcpy
  memset,             // gpu_memset, Memset
  runtime,            // cuda_runtime, cuda_driver, hip_runtime, mtia_runtime, …, Runtime
  operation,          // cpu_op, Operator
  user_annotation,    // record_function, ProfilerStep
  device_annotation,  // gpu_user_annotation: the same, drawn once more on the device's lane
  python_function,
  flow,         // ac2g, async_cpu_to_gpu, fwdbwd: arrows
  device_sync,  // cuda_sync: repeats what the runtime call says
  span,         // Trace: the profiler itself
};

// Views are valid until the next event is read. Numbers that are not there are nothing.
struct TraceEvent {
  char phase = 0;  // the character of "ph"; 0 = missing
  TraceCategory category = TraceCategory::none;
  std::string_view name;
  std::string_view pid, tid;  // without quotes: they may be numbers or texts
  std::optional<Nanoseconds> start, duration;

  // args
  std::string_view label;  // "name" of metadata events
  std::optional<std::int64_t> stream, device, correlation, bytes;
  std::optional<std::int64_t> blocks, block_threads;  // of a kernel: what "grid" and "block" come to
  std::string_view collective, dtype, group;
  std::optional<std::int64_t> in_elements, out_elements, group_size, sequence;
  std::optional<std::int64_t> input_elements;  // of the tensors in "Input Dims", together
  std::string_view input_dtype;                // of the first one
};

class TraceEventHandler {
 public:
  virtual ~TraceEventHandler() = default;
  virtual void begin() {}  // it is a trace; its events follow
  virtual void handle(const TraceEvent& event) = 0;
};

}  // namespace gradsync
