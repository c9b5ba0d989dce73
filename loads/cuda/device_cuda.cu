// The device of users: CUDA's runtime, linked into this library, which opens the driver itself.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <new>

#include "loads/cuda/device.h"

namespace gradsync::cuda {
namespace {

constexpr int kOldestMajor = 7, kOldestMinor = 5;  // sm_75

void check(cudaError_t answer, const char* what) {
  if (answer == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // so that it is not told again
    throw std::bad_alloc();
  }
  if (answer != cudaSuccess) throw DeviceFailure(std::string(what) + ": " + cudaGetErrorString(answer));
}

cudaEvent_t event(void* of) { return static_cast<cudaEvent_t>(of); }

Error missing(const std::string& why, const std::string& hint) { return {"cannot use", "a GPU", why, hint, 3}; }

}  // namespace

Result<std::string> find_device() {
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr)
    return missing("libcuda.so.1, the driver's library, is not there", "install the NVIDIA driver");
  int devices = 0;
  if (const cudaError_t answer = cudaGetDeviceCount(&devices); answer != cudaSuccess) {
    int supported = 0;
    cudaDriverGetVersion(&supported);
    const auto version = [](int of) { return std::to_string(of / 1000) + "." + std::to_string(of % 1000 / 10); };
    if (answer == cudaErrorInsufficientDriver)
      return missing(
          "the driver is for CUDA " + version(supported) + ", these kernels are for " + version(CUDART_VERSION),
          "install a newer driver");
    return missing(cudaGetErrorString(answer), "see what nvidia-smi says");
  }
  if (devices == 0) return missing("the driver shows no device", "see what nvidia-smi says");
  cudaDeviceProp device{};
  if (const cudaError_t answer = cudaGetDeviceProperties(&device, 0); answer != cudaSuccess)
    return missing(cudaGetErrorString(answer), "see what nvidia-smi says");
  if (device.major < kOldestMajor || (device.major == kOldestMajor && device.minor < kOldestMinor))
    return missing(std::string(device.name) + " has compute capability " + std::to_string(device.major) + "." +
                       std::to_string(device.minor) + ", these kernels need 7.5",
                   "use a newer GPU");
  return std::string(device.name);
}

int multiprocessors() {
  static const int count = [] {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), "count multiprocessors");
    return value;
  }();
  return count;
}

std::int64_t cache_bytes() {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, 0), "ask for the size of the cache");
  return value;
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0) check(cudaMalloc(&memory, bytes), "allocate memory");
  return memory;
}
void release(void* memory) noexcept {
  if (memory != nullptr) cudaFree(memory);
}
void copy_in(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy to the device");
}
void copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}
void copy_within(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copy on the device");
}
void fill_zeros(void* memory, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(memory, 0, bytes), "fill with zeros");
}
void check_launch(const char* name) { check(cudaGetLastError(), name); }

Stopwatch::Stopwatch() {
  cudaEvent_t created = nullptr;
  check(cudaEventCreate(&created), "create an event");
  begin_ = created;
  check(cudaEventCreate(&created), "create an event");
  end_ = created;
}
Stopwatch::~Stopwatch() {
  cudaEventDestroy(event(begin_));
  cudaEventDestroy(event(end_));
}
void Stopwatch::start() { check(cudaEventRecord(event(begin_)), "start the clock"); }
void Stopwatch::stop() { check(cudaEventRecord(event(end_)), "stop the clock"); }
double Stopwatch::seconds() const {
  float milliseconds = 0;
  check(cudaEventSynchronize(event(end_)), "wait for the kernels");
  check(cudaEventElapsedTime(&milliseconds, event(begin_), event(end_)), "read the clock");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace gradsync::cuda
