// What we use of CUPTI's range profiler and of its host half, from CUDA 12.6 on; nothing of it is needed to build. Held
// against the vendor's headers by tests/unit/inject/cupti_profiler_abi_test.cpp where there are any.
//
// Every call takes one struct that begins with its own size: a library that knows more fields leaves those alone that
// the caller does not tell. The size ends with the last field, so it is not always sizeof: see kTold.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collectors/inject/abi/cupti_abi.h"

namespace gradsync::cupti {

struct RangeProfilerObject;
struct HostObject;

constexpr int32_t kSupported = 3;       // CUPTI_PROFILER_CONFIGURATION_SUPPORTED
constexpr int32_t kOfRangesHost = 0;    // CUPTI_PROFILER_TYPE_RANGE_PROFILER
constexpr int32_t kOfRangesDevice = 0;  // CUPTI_PROFILER_RANGE_PROFILING
constexpr int32_t kRangePerKernel = 1;  // CUPTI_AutoRange
constexpr int32_t kReplayByCaller = 3;  // CUPTI_UserReplay: CUPTI itself never runs a kernel again

struct ProfilerInitialize {
  size_t size;
  void* reserved;
};

struct DeviceSupported {
  size_t size;
  void* reserved;
  int32_t device;
  int32_t supported, architecture, sli, vgpu, confidential, mining, wsl;  // out
  int32_t api;
};

struct ChipName {
  size_t size;
  void* reserved;
  size_t device;
  const char* name;  // out
};

struct CounterAvailability {
  size_t size;
  void* reserved;
  void* context;
  size_t image_bytes;  // out where there is no image yet
  uint8_t* image;
};

struct HostInitialize {
  size_t size;
  void* reserved;
  int32_t type;
  const char* chip;
  const uint8_t* availability;
  HostObject* host;  // out
};

struct HostDeinitialize {
  size_t size;
  void* reserved;
  HostObject* host;
};

struct HostMetrics {
  size_t size;
  void* reserved;
  HostObject* host;
  const char** names;
  size_t count;
};

struct HostImageSize {
  size_t size;
  void* reserved;
  HostObject* host;
  size_t bytes;  // out
};

struct HostImage {
  size_t size;
  void* reserved;
  HostObject* host;
  size_t bytes;
  uint8_t* image;
};

struct HostPasses {
  size_t size;
  void* reserved;
  size_t bytes;
  uint8_t* image;
  size_t passes;  // out
};

struct HostEvaluate {
  size_t size;
  void* reserved;
  HostObject* host;
  const uint8_t* data;
  size_t data_bytes, range;
  const char** names;
  size_t count;
  double* values;  // out
};

struct RangeEnable {
  size_t size;
  void* reserved;
  void* context;
  RangeProfilerObject* profiler;  // out
};

struct RangeCall {  // Disable, Start
  size_t size;
  void* reserved;
  RangeProfilerObject* profiler;
};

struct RangeDataSize {
  size_t size;
  void* reserved;
  RangeProfilerObject* profiler;
  const char** names;
  size_t count, ranges;
  uint32_t nodes;
  size_t bytes;  // out
};

struct RangeDataInitialize {
  size_t size;
  void* reserved;
  RangeProfilerObject* profiler;
  size_t bytes;
  uint8_t* data;
};

struct RangeConfig {
  size_t size;
  void* reserved;
  RangeProfilerObject* profiler;
  size_t config_bytes;
  const uint8_t* config;
  size_t data_bytes;
  uint8_t* data;
  int32_t range, replay;
  size_t ranges_per_pass;
  uint16_t nesting_levels, least_nesting_level;
  size_t pass;
  uint16_t nesting_level;
};

struct RangeStop {
  size_t size;
  void* reserved;
  RangeProfilerObject* profiler;
  size_t pass, nesting_level;  // out, as the next
  uint8_t all_passes;
};

struct RangeDecode {
  size_t size;
  void* reserved;
  RangeProfilerObject* profiler;
  size_t dropped;  // out
};

struct RangeDataInfo {
  size_t size;
  void* reserved;
  const uint8_t* data;
  size_t bytes, ranges;  // ranges: out
};

// What `size` has to say.
template <typename Parameters>
inline constexpr size_t kTold = sizeof(Parameters);
template <>
inline constexpr size_t kTold<DeviceSupported> = offsetof(DeviceSupported, api) + sizeof(int32_t);
template <>
inline constexpr size_t kTold<RangeConfig> = offsetof(RangeConfig, nesting_level) + sizeof(uint16_t);
template <>
inline constexpr size_t kTold<RangeStop> = offsetof(RangeStop, all_passes) + sizeof(uint8_t);

template <typename Parameters>
Parameters told() {
  Parameters parameters{};
  parameters.size = kTold<Parameters>;
  return parameters;
}

struct ProfilerFunctions {
  Status (*initialize)(ProfilerInitialize*);
  Status (*deinitialize)(ProfilerInitialize*);
  Status (*device_supported)(DeviceSupported*);
  Status (*chip_name)(ChipName*);
  Status (*counter_availability)(CounterAvailability*);
  Status (*host_initialize)(HostInitialize*);
  Status (*host_deinitialize)(HostDeinitialize*);
  Status (*host_add_metrics)(HostMetrics*);
  Status (*host_image_size)(HostImageSize*);
  Status (*host_image)(HostImage*);
  Status (*host_passes)(HostPasses*);
  Status (*host_evaluate)(HostEvaluate*);
  Status (*enable)(RangeEnable*);
  Status (*disable)(RangeCall*);
  Status (*data_size)(RangeDataSize*);
  Status (*data_initialize)(RangeDataInitialize*);
  Status (*set_config)(RangeConfig*);
  Status (*start)(RangeCall*);
  Status (*stop)(RangeStop*);
  Status (*decode)(RangeDecode*);
  Status (*data_info)(RangeDataInfo*);
};

}  // namespace gradsync::cupti
