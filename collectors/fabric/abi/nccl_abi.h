// The part of NCCL's binary interface that a sweep needs, declared here so that nothing is switched off on a machine
// without the vendor's headers. tests/unit/fabric/nccl_abi_test.cpp compares it with <nccl.h> where that exists.
//
// NCCL keeps its C interface within major version 2: enumerators are only added, and functions only join. What joined
// late is optional below; a null pointer means that this NCCL does not have it.
//
//   2.4   ncclCommGetAsyncError, ncclCommAbort      2.13  ncclGetLastError (optional)
//   2.7   ncclSend, ncclRecv                        2.28  ncclAlltoAll (optional: a group of sends and receives else)
#pragma once

#include <cstddef>

#include "collectors/fabric/abi/cuda_abi.h"

namespace gradsync::nccl {

using Comm = struct OpaqueComm*;

struct UniqueId {
  char internal[128];
};

enum Status : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum DataType : int { kInt8 = 0, kFloat16 = 6, kFloat32 = 7 };
enum Reduction : int { kSum = 0 };

struct Functions {
  Status (*get_version)(int* version) = nullptr;
  Status (*get_unique_id)(UniqueId* id) = nullptr;
  Status (*comm_init_rank)(Comm* comm, int ranks, UniqueId id, int rank) = nullptr;
  Status (*comm_destroy)(Comm comm) = nullptr;
  Status (*comm_abort)(Comm comm) = nullptr;
  Status (*comm_get_async_error)(Comm comm, Status* error) = nullptr;
  const char* (*get_error_string)(Status status) = nullptr;
  const char* (*get_last_error)(Comm comm) = nullptr;  // optional

  Status (*all_reduce)(const void* send, void* receive, std::size_t count, DataType type, Reduction reduction,
                       Comm comm, cuda::Stream stream) = nullptr;
  Status (*all_gather)(const void* send, void* receive, std::size_t send_count, DataType type, Comm comm,
                       cuda::Stream stream) = nullptr;
  Status (*reduce_scatter)(const void* send, void* receive, std::size_t receive_count, DataType type,
                           Reduction reduction, Comm comm, cuda::Stream stream) = nullptr;
  Status (*broadcast)(const void* send, void* receive, std::size_t count, DataType type, int root, Comm comm,
                      cuda::Stream stream) = nullptr;
  // Counts are those of one pair of ranks. Optional.
  Status (*all_to_all)(const void* send, void* receive, std::size_t count, DataType type, Comm comm,
                       cuda::Stream stream) = nullptr;
  Status (*send)(const void* buffer, std::size_t count, DataType type, int peer, Comm comm,
                 cuda::Stream stream) = nullptr;
  Status (*receive)(void* buffer, std::size_t count, DataType type, int peer, Comm comm, cuda::Stream stream) = nullptr;
  Status (*group_start)() = nullptr;
  Status (*group_end)() = nullptr;
};

// NCCL's own coding of versions: 2.7.8 is 2708, from 2.9 on 2.28.9 is 22809.
constexpr int version_code(int major, int minor, int patch) {
  return major <= 2 && minor <= 8 ? major * 1000 + minor * 100 + patch : major * 10000 + minor * 100 + patch;
}

}  // namespace gradsync::nccl
