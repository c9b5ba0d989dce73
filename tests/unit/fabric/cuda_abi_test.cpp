// Our declarations of the CUDA runtime's interface against the vendor's own header, where there is one.
#include "collectors/fabric/abi/cuda_abi.h"

#include <doctest/doctest.h>

#include "tests/unit/fabric/same_shape.h"

using namespace gradsync;

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>

#define SAME(ours, theirs) static_assert(SameShape<decltype(cuda::Functions::ours), decltype(&(theirs))>::value)
SAME(driver_get_version, cudaDriverGetVersion);
SAME(runtime_get_version, cudaRuntimeGetVersion);
SAME(get_device_count, cudaGetDeviceCount);
SAME(set_device, cudaSetDevice);
SAME(device_get_attribute, cudaDeviceGetAttribute);
SAME(device_get_pci_bus_id, cudaDeviceGetPCIBusId);
SAME(get_last_error, cudaGetLastError);
SAME(get_error_string, cudaGetErrorString);
SAME(malloc, cudaMalloc);
SAME(free, cudaFree);
SAME(mem_get_info, cudaMemGetInfo);
SAME(memset_async, cudaMemsetAsync);
SAME(memcpy_async, cudaMemcpyAsync);
SAME(stream_create_with_flags, cudaStreamCreateWithFlags);
SAME(stream_query, cudaStreamQuery);
SAME(stream_destroy, cudaStreamDestroy);
SAME(event_create_with_flags, cudaEventCreateWithFlags);
SAME(event_record, cudaEventRecord);
SAME(event_query, cudaEventQuery);
SAME(event_elapsed_time, cudaEventElapsedTime);
SAME(event_destroy, cudaEventDestroy);
SAME(stream_begin_capture, cudaStreamBeginCapture);
SAME(stream_end_capture, cudaStreamEndCapture);
#if CUDART_VERSION >= 11040
SAME(graph_instantiate_with_flags, cudaGraphInstantiateWithFlags);
#endif
SAME(graph_launch, cudaGraphLaunch);
SAME(graph_exec_destroy, cudaGraphExecDestroy);
SAME(graph_destroy, cudaGraphDestroy);

static_assert(int{cuda::kSuccess} == int{cudaSuccess} && int{cuda::kInvalidValue} == int{cudaErrorInvalidValue});
static_assert(int{cuda::kMemoryAllocation} == int{cudaErrorMemoryAllocation});
static_assert(int{cuda::kInitializationError} == int{cudaErrorInitializationError});
static_assert(int{cuda::kInsufficientDriver} == int{cudaErrorInsufficientDriver});
static_assert(int{cuda::kDevicesUnavailable} == int{cudaErrorDevicesUnavailable});
static_assert(int{cuda::kNoDevice} == int{cudaErrorNoDevice} &&
              int{cuda::kInvalidDevice} == int{cudaErrorInvalidDevice});
static_assert(int{cuda::kInvalidResourceHandle} == int{cudaErrorInvalidResourceHandle});
static_assert(int{cuda::kNotReady} == int{cudaErrorNotReady} &&
              int{cuda::kIllegalAddress} == int{cudaErrorIllegalAddress});
static_assert(int{cuda::kStreamCaptureUnsupported} == int{cudaErrorStreamCaptureUnsupported});
static_assert(int{cuda::kStreamCaptureInvalidated} == int{cudaErrorStreamCaptureInvalidated});
static_assert(int{cuda::kHostToDevice} == int{cudaMemcpyHostToDevice});
static_assert(int{cuda::kDeviceToHost} == int{cudaMemcpyDeviceToHost});
static_assert(int{cuda::kCaptureThreadLocal} == int{cudaStreamCaptureModeThreadLocal});
static_assert(int{cuda::kComputeMode} == int{cudaDevAttrComputeMode});
static_assert(int{cuda::kComputeCapabilityMajor} == int{cudaDevAttrComputeCapabilityMajor});
static_assert(int{cuda::kComputeCapabilityMinor} == int{cudaDevAttrComputeCapabilityMinor});
static_assert(cuda::kStreamNonBlocking == cudaStreamNonBlocking && cuda::kEventDefault == cudaEventDefault);

TEST_CASE("CUDA's interface: as in the vendor's header") { MESSAGE("compared with CUDA ", CUDART_VERSION); }
#else
TEST_CASE("CUDA's interface: as in the vendor's header" * doctest::skip()) {}  // no <cuda_runtime_api.h> here
#endif
