// The metrics that are read of a kernel's hardware counters, and the host's half of CUPTI's profiler, which knows for
// each chip what a metric is made of. It needs no device.
#pragma once

#include "collectors/inject/abi/cupti_profiler_abi.h"

namespace gradsync::cupti {

// Null when the library has all of it, else a name that is missing: CUDA before 12.6.
const char* find_profiler(void* library, ProfilerFunctions& call);

// Zero-initialised; nothing is freed but by release(). One thread at a time.
class MetricSet {
 public:
  static constexpr uint32_t kMost = 16;
  static constexpr size_t kTextBytes = 2048;
  // Of each kernel: what the others are weighted by. It is always read, before those that are asked for.
  static constexpr const char* kDuration = "gpu__time_duration.sum";

  // Names that are separated by commas; what is too many or too long is left out and told in refused().
  void parse(const char* names);

  // Keeps the names that this chip has and that all fit into one pass, in their order; refuses the others by name. A
  // second pass would run the job's kernels again. The first answer of CUPTI that is about none of the names.
  Status choose(const ProfilerFunctions& call, const char* chip, const uint8_t* availability);
  void release(const ProfilerFunctions& call);

  // kMost values, in the order of names(); of the kernel that was launched as number `range`.
  Status evaluate(const ProfilerFunctions& call, const uint8_t* data, size_t bytes, size_t range, double* values) const;

  uint32_t count() const { return count_; }
  const char** names() const { return const_cast<const char**>(names_); }
  const uint8_t* config() const { return config_; }
  size_t config_bytes() const { return config_bytes_; }
  // "dram__x.sum (not on this chip), lts__y.pct (needs a second pass)"; empty: none.
  const char* refused() const { return refused_; }

 private:
  Status passes_of(const ProfilerFunctions& call, const char* chip, const uint8_t* availability, uint32_t count,
                   size_t& passes);
  void refuse(const char* name, const char* why);
  void drop_image();

  char text_[kTextBytes];
  char refused_[kTextBytes];
  const char* wanted_[kMost];
  uint32_t wanted_count_;
  const char* names_[kMost];
  uint32_t count_;
  uint8_t* config_;  // of names_, as the device takes it
  size_t config_bytes_;
  HostObject* host_;
};

}  // namespace gradsync::cupti
