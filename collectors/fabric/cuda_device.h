// CudaDevice: one GPU with one stream, two events and what is done with them. Everything is enqueued on that stream, so
// it happens in order; wait() is the only place that waits. Used by the thread that opened it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collectors/fabric/cuda_library.h"
#include "src/base/result.h"

namespace gradsync {

struct DeviceWait {
  std::string what;  // "all_reduce of 4096 bytes": for the error
  std::int64_t timeout_ms = 30'000;
  std::function<Result<void>()> health;  // asked about every millisecond; its error ends the waiting
};

class CudaDevice {
 public:
  static Result<std::unique_ptr<CudaDevice>> open(const CudaLibrary& library, int index);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const CudaLibrary& library() const { return library_; }
  cuda::Stream stream() const { return stream_; }
  int index() const { return index_; }
  std::string bus_id() const;              // "0000:65:00.0"; empty: CUDA does not tell
  std::string compute_capability() const;  // "9.0"

  // Both events around `enqueue`, and waits for the second.
  Result<void> time(const std::function<Result<void>()>& enqueue, const DeviceWait& wait);
  Result<double> elapsed_us() const;  // between them, after time()
  // Until all that was enqueued is done.
  Result<void> wait(const DeviceWait& wait);

  Result<void> fill(void* memory, int value, std::size_t bytes);
  Result<void> copy_in(void* device, const void* host, std::size_t bytes, const DeviceWait& wait);
  Result<void> copy_out(void* host, const void* device, std::size_t bytes, const DeviceWait& wait);

 private:
  CudaDevice(const CudaLibrary& library, int index) : library_(library), index_(index) {}
  Result<void> create();
  Result<void> record(cuda::Event event);
  Result<void> poll(cuda::Event event, const DeviceWait& wait);
  std::string name() const { return "GPU " + std::to_string(index_); }

  CudaLibrary library_;
  int index_;
  cuda::Stream stream_ = nullptr;
  cuda::Event start_ = nullptr, stop_ = nullptr;
};

// Device memory that only grows.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(const CudaLibrary& library) : library_(library) {}
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  Result<void> reserve(std::size_t bytes);
  void* data() const { return memory_; }

 private:
  void release();

  CudaLibrary library_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// What the smallest work takes between two events, median of 51: nothing can be faster than this. The work is a fill of
// four bytes, since an empty kernel would need code of the GPU's own.
Result<double> measure_empty_kernel_us(CudaDevice& device, void* four_bytes);

}  // namespace gradsync
