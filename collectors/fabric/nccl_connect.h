// How the ranks of a sweep become one NCCL communicator:
//
//   hello      host, GPUs, NCCL version  ↔ all     → which GPU is whose; versions that differ are refused
//   device     open the GPU, its bus id  ↔ all     → two ranks on one GPU are refused
//   id         rank 0 makes it           → all
//   init       ncclCommInitRank with a limit of time, which it does not have itself
//
// A rank that fails says so in the next exchange, so that the others stop with its reason instead of waiting for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectors/fabric/backend.h"
#include "collectors/fabric/cuda_device.h"
#include "collectors/fabric/nccl_library.h"
#include "collectors/fabric/nccl_place.h"

namespace gradsync {

struct NcclConnection {
  std::unique_ptr<CudaDevice> device;
  nccl::Comm comm = nullptr;
  std::vector<NcclHello> ranks;
  std::vector<std::string> bus_ids;
};

struct NcclLibraries {
  CudaLibrary cuda;
  NcclLibrary nccl;
};

Result<NcclConnection> connect_nccl(const NcclLibraries& libraries, const FabricPlace& place, RankStore& store);

}  // namespace gradsync
