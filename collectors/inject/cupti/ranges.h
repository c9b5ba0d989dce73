// The device's half of CUPTI's profiler: between open and close each kernel that is launched in the context runs alone,
// once, and its counters are read. Nothing of CUPTI's profiler is left on the device outside.
#pragma once

#include "collectors/inject/cupti/metrics.h"

namespace gradsync::cupti {

// Zero-initialised. One thread at a time.
class RangeProfiler {
 public:
  static constexpr size_t kMostKernels = 64;  // of one range; what comes after is counted as dropped

  // Needs a set that was chosen. After an answer other than success nothing is on.
  Status open(const ProfilerFunctions& call, void* context, const MetricSet& metrics);
  // Kernels that can be evaluated in data(), until the next open.
  Status close(const ProfilerFunctions& call);
  // Switches off; what was read is given up.
  void abandon(const ProfilerFunctions& call);

  size_t kernels() const { return kernels_; }
  size_t dropped() const { return dropped_; }
  const uint8_t* data() const { return data_; }
  size_t data_bytes() const { return data_bytes_; }

 private:
  Status prepare(const ProfilerFunctions& call, const MetricSet& metrics);
  Status stop(const ProfilerFunctions& call);
  void disable(const ProfilerFunctions& call);

  RangeProfilerObject* profiler_;
  uint8_t* data_;
  size_t data_bytes_, kernels_, dropped_;
};

}  // namespace gradsync::cupti
