// The part of the CUDA runtime's binary interface that a sweep needs, declared here so that nothing is switched off on
// a machine without the vendor's headers. tests/unit/fabric/cuda_abi_test.cpp compares it with <cuda_runtime_api.h>
// where that exists. It holds for CUDA 11, 12 and 13:
//
//   cudaGraphInstantiate     has other parameters in 11 than in 12: never used. cudaGraphInstantiateWithFlags joined in
//                            11.4 and kept its form; optional, without it nothing is replayed from a graph
//   cudaStreamBeginCapture   has the mode as its second parameter since 10.1
//   cudaGetDeviceProperties  fills a structure that grows, and is renamed by the headers of 12 (_v2): never used;
//                            cudaDeviceGetAttribute and cudaDeviceGetPCIBusId answer the same
//   …_ptsz, …_ptds           are other symbols, for programs built with a default stream per thread; the plain ones
//                            are taken, and a stream of our own is always given
//   symbol versions          the library tags all its symbols with its own soname; dlsym without a version finds them
#pragma once

#include <cstddef>

namespace gradsync::cuda {

using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Graph = struct OpaqueGraph*;
using GraphExec = struct OpaqueGraphExec*;

// Those that get an answer of their own; the library has a text for each of them.
enum Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInitializationError = 3,
  kInsufficientDriver = 35,
  kDevicesUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidResourceHandle = 400,
  kNotReady = 600,
  kIllegalAddress = 700,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
};

enum CopyKind : int { kHostToDevice = 1, kDeviceToHost = 2 };
enum CaptureMode : int { kCaptureThreadLocal = 1 };
enum Attribute : int { kComputeMode = 20, kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76 };
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;

struct Functions {
  Status (*driver_get_version)(int* version) = nullptr;
  Status (*runtime_get_version)(int* version) = nullptr;
  Status (*get_device_count)(int* count) = nullptr;
  Status (*set_device)(int device) = nullptr;
  Status (*device_get_attribute)(int* value, Attribute attribute, int device) = nullptr;
  Status (*device_get_pci_bus_id)(char* text, int bytes, int device) = nullptr;
  Status (*get_last_error)() = nullptr;
  const char* (*get_error_string)(Status status) = nullptr;

  Status (*malloc)(void** memory, std::size_t bytes) = nullptr;
  Status (*free)(void* memory) = nullptr;
  Status (*mem_get_info)(std::size_t* free_bytes, std::size_t* total_bytes) = nullptr;
  Status (*memset_async)(void* memory, int value, std::size_t bytes, Stream stream) = nullptr;
  Status (*memcpy_async)(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) = nullptr;

  Status (*stream_create_with_flags)(Stream* stream, unsigned flags) = nullptr;
  Status (*stream_query)(Stream stream) = nullptr;
  Status (*stream_destroy)(Stream stream) = nullptr;

  Status (*event_create_with_flags)(Event* event, unsigned flags) = nullptr;
  Status (*event_record)(Event event, Stream stream) = nullptr;
  Status (*event_query)(Event event) = nullptr;
  Status (*event_elapsed_time)(float* milliseconds, Event start, Event end) = nullptr;
  Status (*event_destroy)(Event event) = nullptr;

  Status (*stream_begin_capture)(Stream stream, CaptureMode mode) = nullptr;
  Status (*stream_end_capture)(Stream stream, Graph* graph) = nullptr;
  Status (*graph_instantiate_with_flags)(GraphExec* exec, Graph graph, unsigned long long flags) = nullptr;  // optional
  Status (*graph_launch)(GraphExec exec, Stream stream) = nullptr;
  Status (*graph_exec_destroy)(GraphExec exec) = nullptr;
  Status (*graph_destroy)(Graph graph) = nullptr;
};

}  // namespace gradsync::cuda
