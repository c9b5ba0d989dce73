#include "collectors/fabric/cuda_device.h"

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

using Clock = std::chrono::steady_clock;

// Short waits are spun: a sleep would be longer than a small collective.
constexpr auto kSpin = std::chrono::milliseconds(2);
constexpr auto kNap = std::chrono::microseconds(50);
constexpr auto kHealthEvery = std::chrono::milliseconds(1);

Error timed_out(const DeviceWait& wait) {
  return {"no result of " + wait.what, "", "not finished after " + std::to_string(wait.timeout_ms) + " ms",
          "another rank is not taking part or the network is stuck: see the other ranks' output, NCCL_DEBUG=INFO"};
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaLibrary& library, int index) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(library, index));
  if (auto created = device->create(); !created) return created.error();
  return device;
}

Result<void> CudaDevice::create() {
  const auto& call = library_.call;
  cuda::Status status = call.set_device(index_);
  if (status == cuda::kSuccess) status = call.stream_create_with_flags(&stream_, cuda::kStreamNonBlocking);
  for (cuda::Event* event : {&start_, &stop_})
    if (status == cuda::kSuccess) status = call.event_create_with_flags(event, cuda::kEventDefault);
  if (status != cuda::kSuccess) return cuda_error(library_, status, "cannot use", name());
  return {};
}

CudaDevice::~CudaDevice() {
  for (cuda::Event event : {start_, stop_})
    if (event) library_.call.event_destroy(event);
  if (stream_) library_.call.stream_destroy(stream_);
}

std::string CudaDevice::bus_id() const {
  std::array<char, 32> text{};
  if (library_.call.device_get_pci_bus_id(text.data(), text.size(), index_) != cuda::kSuccess) return "";
  return text.data();
}

std::string CudaDevice::compute_capability() const {
  int major = 0, minor = 0;
  if (library_.call.device_get_attribute(&major, cuda::kComputeCapabilityMajor, index_) != cuda::kSuccess ||
      library_.call.device_get_attribute(&minor, cuda::kComputeCapabilityMinor, index_) != cuda::kSuccess)
    return "";
  return std::to_string(major) + "." + std::to_string(minor);
}

Result<void> CudaDevice::record(cuda::Event event) {
  const cuda::Status status = library_.call.event_record(event, stream_);
  if (status != cuda::kSuccess) return cuda_error(library_, status, "cannot take the time on", name());
  return {};
}

Result<void> CudaDevice::time(const std::function<Result<void>()>& enqueue, const DeviceWait& wait) {
  if (auto done = record(start_); !done) return done;
  if (auto done = enqueue(); !done) return done;
  if (auto done = record(stop_); !done) return done;
  return poll(stop_, wait);
}

Result<double> CudaDevice::elapsed_us() const {
  float milliseconds = 0;
  const cuda::Status status = library_.call.event_elapsed_time(&milliseconds, start_, stop_);
  if (status != cuda::kSuccess) return cuda_error(library_, status, "cannot take the time on", name());
  return static_cast<double>(milliseconds) * 1000;
}

Result<void> CudaDevice::wait(const DeviceWait& wait) {
  if (auto done = record(stop_); !done) return done;
  return poll(stop_, wait);
}

Result<void> CudaDevice::poll(cuda::Event event, const DeviceWait& wait) {
  const auto begin = Clock::now();
  auto asked = begin;
  while (true) {
    const cuda::Status status = library_.call.event_query(event);
    if (status != cuda::kSuccess && status != cuda::kNotReady)
      return cuda_error(library_, status, wait.what + " failed on", name());
    const auto now = Clock::now();
    // A failed collective also "finishes": its health is asked once more before a result is believed.
    if (wait.health && (status == cuda::kSuccess || now - asked >= kHealthEvery)) {
      asked = now;
      if (auto healthy = wait.health(); !healthy) return healthy;
    }
    if (status == cuda::kSuccess) return {};
    if (now - begin >= std::chrono::milliseconds(wait.timeout_ms)) return timed_out(wait);
    if (now - begin < kSpin)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kNap);
  }
}

Result<void> CudaDevice::fill(void* memory, int value, std::size_t bytes) {
  const cuda::Status status = library_.call.memset_async(memory, value, bytes, stream_);
  if (status != cuda::kSuccess) return cuda_error(library_, status, "cannot fill memory of", name());
  return {};
}

Result<void> CudaDevice::copy_in(void* device, const void* host, std::size_t bytes, const DeviceWait& limit) {
  const cuda::Status status = library_.call.memcpy_async(device, host, bytes, cuda::kHostToDevice, stream_);
  if (status != cuda::kSuccess) return cuda_error(library_, status, "cannot copy to", name());
  return wait(limit);
}

Result<void> CudaDevice::copy_out(void* host, const void* device, std::size_t bytes, const DeviceWait& limit) {
  // From ordinary memory the copy itself blocks, without limit: what it would wait for is waited for before.
  if (auto done = wait(limit); !done) return done;
  const cuda::Status status = library_.call.memcpy_async(host, device, bytes, cuda::kDeviceToHost, stream_);
  if (status != cuda::kSuccess) return cuda_error(library_, status, "cannot copy from", name());
  return wait(limit);
}

DeviceBuffer::~DeviceBuffer() { release(); }

void DeviceBuffer::release() {
  if (memory_) library_.call.free(memory_);
  memory_ = nullptr;
  bytes_ = 0;
}

Result<void> DeviceBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return {};
  release();
  const cuda::Status status = library_.call.malloc(&memory_, bytes);
  if (status == cuda::kSuccess) {
    bytes_ = bytes;
    return {};
  }
  memory_ = nullptr;
  Error error = cuda_error(library_, status, "no GPU memory for a buffer", "of " + std::to_string(bytes) + " bytes");
  std::size_t free_bytes = 0, total_bytes = 0;
  if (library_.call.mem_get_info(&free_bytes, &total_bytes) == cuda::kSuccess)
    error.why += ", " + std::to_string(free_bytes) + " of " + std::to_string(total_bytes) + " bytes are free";
  return error;
}

Result<double> measure_empty_kernel_us(CudaDevice& device, void* four_bytes) {
  constexpr int kWarmUp = 10, kTimes = 51;
  const DeviceWait wait{"an empty launch", 30'000, {}};
  std::vector<double> times;
  for (int i = 0; i < kWarmUp + kTimes; ++i) {
    auto done = device.time([&] { return device.fill(four_bytes, 0, 4); }, wait);
    if (!done) return done.error();
    const auto us = device.elapsed_us();
    if (!us) return us.error();
    if (i >= kWarmUp) times.push_back(*us);
  }
  return *median(times);
}

}  // namespace gradsync
