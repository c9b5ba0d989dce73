// Our declarations of CUPTI's interface against the vendor's own headers, where there are any.
#include "collectors/inject/abi/cupti_abi.h"

#include <doctest/doctest.h>

#include <iterator>
#include <string>

#include "collectors/inject/cupti/calls.h"

#if __has_include(<cupti.h>)
#include <cupti.h>

using namespace gradsync::cupti;

#define SAME_OFFSET(ours, our_field, theirs, their_field)                     \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field) && \
                sizeof(ours::our_field) == sizeof(theirs::their_field))

static_assert(Status{Statuses::success} == CUPTI_SUCCESS);
static_assert(Status{Statuses::not_initialized} == CUPTI_ERROR_NOT_INITIALIZED);
static_assert(Status{Statuses::insufficient_privileges} == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
static_assert(Status{Statuses::several_subscribers} == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(uint32_t(ActivityKind::memcpy) == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(uint32_t(ActivityKind::memset) == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(uint32_t(ActivityKind::driver) == CUPTI_ACTIVITY_KIND_DRIVER);
static_assert(uint32_t(ActivityKind::runtime) == CUPTI_ACTIVITY_KIND_RUNTIME);
static_assert(uint32_t(ActivityKind::concurrent_kernel) == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(uint32_t(ActivityKind::overhead) == CUPTI_ACTIVITY_KIND_OVERHEAD);
static_assert(uint32_t(ActivityKind::memcpy_peer) == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(uint32_t(ActivityKind::synchronization) == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
static_assert(uint32_t(ActivityKind::graph_trace) == CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
static_assert(uint32_t(ThreadIdType::system) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

static_assert(sizeof(KernelRecord) <= sizeof(CUpti_ActivityKernel4));
SAME_OFFSET(KernelRecord, registers_per_thread, CUpti_ActivityKernel4, registersPerThread);
SAME_OFFSET(KernelRecord, start, CUpti_ActivityKernel4, start);
SAME_OFFSET(KernelRecord, end, CUpti_ActivityKernel4, end);
SAME_OFFSET(KernelRecord, device, CUpti_ActivityKernel4, deviceId);
SAME_OFFSET(KernelRecord, stream, CUpti_ActivityKernel4, streamId);
static_assert(offsetof(KernelRecord, grid) == offsetof(CUpti_ActivityKernel4, gridX));
static_assert(offsetof(KernelRecord, block) == offsetof(CUpti_ActivityKernel4, blockX));
SAME_OFFSET(KernelRecord, static_shared_memory, CUpti_ActivityKernel4, staticSharedMemory);
SAME_OFFSET(KernelRecord, dynamic_shared_memory, CUpti_ActivityKernel4, dynamicSharedMemory);
SAME_OFFSET(KernelRecord, correlation, CUpti_ActivityKernel4, correlationId);
SAME_OFFSET(KernelRecord, name, CUpti_ActivityKernel4, name);
SAME_OFFSET(KernelRecord, correlation, CUpti_ActivityKernel9, correlationId);
SAME_OFFSET(KernelRecord, name, CUpti_ActivityKernel9, name);

static_assert(sizeof(MemcpyRecord) <= sizeof(CUpti_ActivityMemcpy));
SAME_OFFSET(MemcpyRecord, copy_kind, CUpti_ActivityMemcpy5, copyKind);
SAME_OFFSET(MemcpyRecord, source_kind, CUpti_ActivityMemcpy5, srcKind);
SAME_OFFSET(MemcpyRecord, target_kind, CUpti_ActivityMemcpy5, dstKind);
SAME_OFFSET(MemcpyRecord, bytes, CUpti_ActivityMemcpy5, bytes);
SAME_OFFSET(MemcpyRecord, start, CUpti_ActivityMemcpy5, start);
SAME_OFFSET(MemcpyRecord, device, CUpti_ActivityMemcpy5, deviceId);
SAME_OFFSET(MemcpyRecord, stream, CUpti_ActivityMemcpy5, streamId);
SAME_OFFSET(MemcpyRecord, correlation, CUpti_ActivityMemcpy5, correlationId);

static_assert(sizeof(PeerMemcpyRecord) <= sizeof(CUpti_ActivityMemcpyPtoP));
SAME_OFFSET(PeerMemcpyRecord, bytes, CUpti_ActivityMemcpyPtoP, bytes);
SAME_OFFSET(PeerMemcpyRecord, end, CUpti_ActivityMemcpyPtoP, end);
SAME_OFFSET(PeerMemcpyRecord, device, CUpti_ActivityMemcpyPtoP, deviceId);
SAME_OFFSET(PeerMemcpyRecord, stream, CUpti_ActivityMemcpyPtoP, streamId);
SAME_OFFSET(PeerMemcpyRecord, correlation, CUpti_ActivityMemcpyPtoP, correlationId);

static_assert(sizeof(MemsetRecord) <= sizeof(CUpti_ActivityMemset));
SAME_OFFSET(MemsetRecord, bytes, CUpti_ActivityMemset, bytes);
SAME_OFFSET(MemsetRecord, start, CUpti_ActivityMemset, start);
SAME_OFFSET(MemsetRecord, stream, CUpti_ActivityMemset, streamId);
SAME_OFFSET(MemsetRecord, correlation, CUpti_ActivityMemset, correlationId);

static_assert(sizeof(ApiRecord) == sizeof(CUpti_ActivityAPI));
SAME_OFFSET(ApiRecord, call, CUpti_ActivityAPI, cbid);
SAME_OFFSET(ApiRecord, start, CUpti_ActivityAPI, start);
SAME_OFFSET(ApiRecord, thread, CUpti_ActivityAPI, threadId);
SAME_OFFSET(ApiRecord, correlation, CUpti_ActivityAPI, correlationId);

SAME_OFFSET(SynchronizationRecord, type, CUpti_ActivitySynchronization, type);
SAME_OFFSET(SynchronizationRecord, start, CUpti_ActivitySynchronization, start);
SAME_OFFSET(SynchronizationRecord, correlation, CUpti_ActivitySynchronization, correlationId);
SAME_OFFSET(OverheadRecord, start, CUpti_ActivityOverhead, start);
SAME_OFFSET(OverheadRecord, end, CUpti_ActivityOverhead, end);
SAME_OFFSET(GraphTraceRecord, correlation, CUpti_ActivityGraphTrace, correlationId);
SAME_OFFSET(GraphTraceRecord, start, CUpti_ActivityGraphTrace, start);
SAME_OFFSET(GraphTraceRecord, device, CUpti_ActivityGraphTrace, deviceId);
SAME_OFFSET(GraphTraceRecord, graph, CUpti_ActivityGraphTrace, graphId);
SAME_OFFSET(GraphTraceRecord, stream, CUpti_ActivityGraphTrace, streamId);

TEST_CASE("the numbers of calls are the vendor's") {
  struct {
    Api api;
    uint32_t call;
    const char* name;
  } const vendors[] = {
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000, "cudaLaunchKernel"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, "cudaLaunchKernelExC"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060, "cudaLaunchKernelExC"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000, "cudaLaunchCooperativeKernel"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000, "cudaLaunchCooperativeKernel"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000, "cudaGraphLaunch"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, "cudaMemcpy"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000, "cudaMemcpyAsync"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000, "cudaMemcpyPeerAsync"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000, "cudaMemsetAsync"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, "cudaStreamSynchronize"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000, "cudaStreamSynchronize"},
      {Api::runtime, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, "cudaEventSynchronize"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "cuLaunchKernel"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, "cuLaunchKernelEx"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, "cuGraphLaunch"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, "cuStreamSynchronize"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, "cuStreamSynchronize"},
      {Api::driver, CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, "cuEventSynchronize"},
  };
  for (const auto& vendor : vendors) {
    const KnownCall* ours = known_call(vendor.api, vendor.call);
    REQUIRE_MESSAGE(ours != nullptr, vendor.name);
    CHECK(std::string(ours->name) == vendor.name);
  }
  CHECK(std::size(vendors) == call_count());  // none of ours that the vendor's list here does not name
}

#else

TEST_CASE("CUPTI's declarations against the vendor's headers" * doctest::skip()) { MESSAGE("no <cupti.h>"); }

#endif
