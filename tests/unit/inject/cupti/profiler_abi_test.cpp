// Our declarations of CUPTI's range profiler against the vendor's own headers, where there are any.
#include "collectors/inject/abi/cupti_profiler_abi.h"

#include <doctest/doctest.h>

#if __has_include(<cupti_range_profiler.h>)
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

using namespace gradsync::cupti;

#define SAME(ours, our_field, theirs, their_field)                            \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) && \
                sizeof(ours::our_field) == sizeof(theirs::their_field))
// The vendor's grow at their end: CUDA 13.5 has fields that 13.0 lacks.
#define SAME_SIZE(ours, theirs) static_assert(kTold<ours> <= theirs##_STRUCT_SIZE)

static_assert(Status{Statuses::invalid_parameter} == CUPTI_ERROR_INVALID_PARAMETER);
static_assert(Status{Statuses::invalid_metric_name} == CUPTI_ERROR_INVALID_METRIC_NAME);
static_assert(Status{Statuses::hardware_busy} == CUPTI_ERROR_HARDWARE_BUSY);
static_assert(Status{Statuses::not_supported} == CUPTI_ERROR_NOT_SUPPORTED);
static_assert(Status{Statuses::virtual_device} == CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
static_assert(Status{Statuses::old_profiler} == CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
static_assert(Status{Statuses::virtual_device_privileges} == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
static_assert(Status{Statuses::confidential} == CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
#if CUDA_VERSION >= 13000
static_assert(Status{Statuses::mig_device} == CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
static_assert(Status{Statuses::wsl_device} == CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
static_assert(Status{Statuses::invalid_chip_name} == CUPTI_ERROR_INVALID_CHIP_NAME);
#endif
static_assert(kSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
static_assert(kOfRangesHost == CUPTI_PROFILER_TYPE_RANGE_PROFILER);
static_assert(kOfRangesDevice == CUPTI_PROFILER_RANGE_PROFILING);
static_assert(kRangePerKernel == CUPTI_AutoRange);
static_assert(kReplayByCaller == CUPTI_UserReplay);

SAME_SIZE(ProfilerInitialize, CUpti_Profiler_Initialize_Params);
SAME_SIZE(ProfilerInitialize, CUpti_Profiler_DeInitialize_Params);
SAME_SIZE(DeviceSupported, CUpti_Profiler_DeviceSupported_Params);
SAME(DeviceSupported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
SAME(DeviceSupported, supported, CUpti_Profiler_DeviceSupported_Params, isSupported);
SAME(DeviceSupported, vgpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
SAME(DeviceSupported, confidential, CUpti_Profiler_DeviceSupported_Params, confidentialCompute);
SAME(DeviceSupported, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
SAME(DeviceSupported, api, CUpti_Profiler_DeviceSupported_Params, api);
SAME_SIZE(ChipName, CUpti_Device_GetChipName_Params);
SAME(ChipName, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME(ChipName, name, CUpti_Device_GetChipName_Params, pChipName);
SAME_SIZE(CounterAvailability, CUpti_Profiler_GetCounterAvailability_Params);
SAME(CounterAvailability, context, CUpti_Profiler_GetCounterAvailability_Params, ctx);
SAME(CounterAvailability, image_bytes, CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize);
SAME(CounterAvailability, image, CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage);

SAME_SIZE(HostInitialize, CUpti_Profiler_Host_Initialize_Params);
SAME(HostInitialize, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
SAME(HostInitialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(HostInitialize, availability, CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SAME(HostInitialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME_SIZE(HostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params);
SAME_SIZE(HostMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME(HostMetrics, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME(HostMetrics, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME_SIZE(HostImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME(HostImageSize, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
SAME_SIZE(HostImage, CUpti_Profiler_Host_GetConfigImage_Params);
SAME(HostImage, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SAME(HostImage, image, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
SAME_SIZE(HostPasses, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME(HostPasses, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME(HostPasses, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SAME_SIZE(HostEvaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME(HostEvaluate, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME(HostEvaluate, data_bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
SAME(HostEvaluate, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(HostEvaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME(HostEvaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);

SAME_SIZE(RangeEnable, CUpti_RangeProfiler_Enable_Params);
SAME(RangeEnable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME(RangeEnable, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
SAME_SIZE(RangeCall, CUpti_RangeProfiler_Disable_Params);
SAME_SIZE(RangeCall, CUpti_RangeProfiler_Start_Params);
SAME(RangeCall, profiler, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
SAME_SIZE(RangeDataSize, CUpti_RangeProfiler_GetCounterDataSize_Params);
SAME(RangeDataSize, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME(RangeDataSize, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
SAME(RangeDataSize, ranges, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
SAME(RangeDataSize, nodes, CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
SAME(RangeDataSize, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
SAME_SIZE(RangeDataInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
SAME(RangeDataInitialize, bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize);
SAME(RangeDataInitialize, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData);
SAME_SIZE(RangeConfig, CUpti_RangeProfiler_SetConfig_Params);
SAME(RangeConfig, config_bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
SAME(RangeConfig, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME(RangeConfig, data_bytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
SAME(RangeConfig, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
SAME(RangeConfig, range, CUpti_RangeProfiler_SetConfig_Params, range);
SAME(RangeConfig, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
SAME(RangeConfig, ranges_per_pass, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
SAME(RangeConfig, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
SAME(RangeConfig, least_nesting_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
SAME(RangeConfig, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
SAME(RangeConfig, nesting_level, CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
SAME_SIZE(RangeStop, CUpti_RangeProfiler_Stop_Params);
SAME(RangeStop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME(RangeStop, all_passes, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
SAME_SIZE(RangeDecode, CUpti_RangeProfiler_DecodeData_Params);
SAME(RangeDecode, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
SAME_SIZE(RangeDataInfo, CUpti_RangeProfiler_GetCounterDataInfo_Params);
SAME(RangeDataInfo, data, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
SAME(RangeDataInfo, bytes, CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize);
SAME(RangeDataInfo, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);

#else

TEST_CASE("the range profiler's declarations against the vendor's headers" * doctest::skip()) {
  MESSAGE("no <cupti_range_profiler.h>");
}

#endif
