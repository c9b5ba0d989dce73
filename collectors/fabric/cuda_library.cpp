#include "collectors/fabric/cuda_library.h"

#include "collectors/fabric/cuda_search.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

const LibraryKind kCudart{
    "the CUDA runtime",
    "GSD_CUDART_LIBRARY",
    {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"},
    "pip install nvidia-cuda-runtime-cu12 (or nvidia-cuda-runtime for CUDA 13), or name the file: "
    "GSD_CUDART_LIBRARY=/path/libcudart.so.12; without GPUs: --backend gloo"};

std::vector<std::string> bind(void* handle, cuda::Functions& call) {
  SymbolTable table(handle);
  table.take("cudaDriverGetVersion", call.driver_get_version);
  table.take("cudaRuntimeGetVersion", call.runtime_get_version);
  table.take("cudaGetDeviceCount", call.get_device_count);
  table.take("cudaSetDevice", call.set_device);
  table.take("cudaDeviceGetAttribute", call.device_get_attribute);
  table.take("cudaDeviceGetPCIBusId", call.device_get_pci_bus_id);
  table.take("cudaGetLastError", call.get_last_error);
  table.take("cudaGetErrorString", call.get_error_string);
  table.take("cudaMalloc", call.malloc);
  table.take("cudaFree", call.free);
  table.take("cudaMemGetInfo", call.mem_get_info);
  table.take("cudaMemsetAsync", call.memset_async);
  table.take("cudaMemcpyAsync", call.memcpy_async);
  table.take("cudaStreamCreateWithFlags", call.stream_create_with_flags);
  table.take("cudaStreamQuery", call.stream_query);
  table.take("cudaStreamDestroy", call.stream_destroy);
  table.take("cudaEventCreateWithFlags", call.event_create_with_flags);
  table.take("cudaEventRecord", call.event_record);
  table.take("cudaEventQuery", call.event_query);
  table.take("cudaEventElapsedTime", call.event_elapsed_time);
  table.take("cudaEventDestroy", call.event_destroy);
  table.take("cudaStreamBeginCapture", call.stream_begin_capture);
  table.take("cudaStreamEndCapture", call.stream_end_capture);
  table.take_if_there("cudaGraphInstantiateWithFlags", call.graph_instantiate_with_flags);
  table.take("cudaGraphLaunch", call.graph_launch);
  table.take("cudaGraphExecDestroy", call.graph_exec_destroy);
  table.take("cudaGraphDestroy", call.graph_destroy);
  return table.missing();
}

std::string fill(const OpenLibrary& opened, CudaLibrary& library) {
  library = CudaLibrary{};
  library.path = opened.path;
  if (const auto missing = bind(opened.handle, library.call); !missing.empty())
    return "has no " + join(missing, ", ") + " (CUDA 11 or newer is needed)";
  if (library.call.runtime_get_version(&library.runtime_version) != cuda::kSuccess) return "does not tell its version";
  if (library.call.driver_get_version(&library.driver_version) != cuda::kSuccess) library.driver_version = 0;
  return "";
}

bool too_new_for_driver(const CudaLibrary& library) {
  return library.driver_version > 0 && library.runtime_version / 1000 > library.driver_version / 1000;
}

std::string hint_for(cuda::Status status) {
  switch (status) {
    case cuda::kMemoryAllocation:
      return "nvidia-smi shows who uses the GPU's memory; or a smaller --max";
    case cuda::kDevicesUnavailable:
      return "the GPU is busy or in exclusive mode: nvidia-smi -q -d COMPUTE,PIDS";
    case cuda::kInsufficientDriver:
    case cuda::kNoDevice:
      return "nvidia-smi shows driver and devices; CUDA_VISIBLE_DEVICES may hide them; without GPUs: --backend gloo";
    case cuda::kInitializationError:
      return "the driver did not start here: nvidia-smi, dmesg";
    default:
      return "nvidia-smi shows the state of the GPU; dmesg | grep -i xid its faults";
  }
}

}  // namespace

Result<CudaLibrary> load_cuda() {
  CudaLibrary library;
  const auto opened = open_library(kCudart, [&](const OpenLibrary& candidate) -> std::string {
    if (auto why = fill(candidate, library); !why.empty()) return why;
    if (!too_new_for_driver(library)) return "";
    return "is of CUDA " + cuda_version_text(library.runtime_version) + ", the driver serves up to " +
           cuda_version_text(library.driver_version);
  });
  if (!opened) return opened.error();
  return library;
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error cuda_error(const CudaLibrary& library, cuda::Status status, const std::string& what, const std::string& on) {
  library.call.get_last_error();
  const char* text = library.call.get_error_string(status);
  return {what, on, std::string(text ? text : "unknown error") + " (CUDA error " + std::to_string(status) + ")",
          hint_for(status)};
}

Result<int> count_devices(const CudaLibrary& library) {
  int devices = 0;
  const cuda::Status status = library.call.get_device_count(&devices);
  if (status == cuda::kSuccess && devices > 0) return devices;
  return cuda_error(library, status == cuda::kSuccess ? cuda::kNoDevice : status, "no GPU that NCCL could use", "");
}

}  // namespace gradsync
