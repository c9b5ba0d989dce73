// The CUDA runtime, found and loaded when a sweep asks for GPUs. Loading starts nothing on a GPU and is safe before a
// fork; the first call about devices is not: CUDA does not work in a process forked after it.
#pragma once

#include <string>

#include "collectors/fabric/abi/cuda_abi.h"
#include "src/base/result.h"

namespace gradsync {

struct CudaLibrary {
  cuda::Functions call;
  std::string path;
  int runtime_version = 0;  // 13000
  int driver_version = 0;   // the newest that the driver can serve; 0: no driver
};

// A runtime of a later major version than the driver's is passed over for an older one, where there is one.
Result<CudaLibrary> load_cuda();

// 13000 → "13.0"
std::string cuda_version_text(int version);

// What CUDA says about `status`, with the command that helps. Clears the runtime's own memory of the error.
Error cuda_error(const CudaLibrary& library, cuda::Status status, const std::string& what, const std::string& on);

// How many devices this process may use. Error: none, no driver, driver too old.
Result<int> count_devices(const CudaLibrary& library);

}  // namespace gradsync
