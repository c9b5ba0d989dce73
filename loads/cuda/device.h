// The device as the loads see it: memory, copies, a clock. One kind: everything runs in the order in which it was asked
// for. Two bodies: device_cuda.cu for a GPU, device_fibres.cpp for this machine (fibres.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "src/base/result.h"

namespace gradsync::cuda {

// What the device answered instead of doing it: "topk_select, find a digit: invalid configuration argument".
class DeviceFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether there is a device that can run these kernels, and what it is called; else the library, the driver or the
// device that is missing.
Result<std::string> find_device();
int multiprocessors();
std::int64_t cache_bytes();

void* allocate(std::size_t bytes);  // throws std::bad_alloc
void release(void* memory) noexcept;
void copy_in(void* to, const void* from, std::size_t bytes);
void copy_out(void* to, const void* from, std::size_t bytes);  // waits for everything before it
void copy_within(void* to, const void* from, std::size_t bytes);
void fill_zeros(void* memory, std::size_t bytes);
void check_launch(const char* name);

// Seconds between two moments of the device.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  void start();
  void stop();  // may be called again: the last one counts
  double seconds() const;

 private:
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

// Numbers in the device's memory.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), room_(std::exchange(other.room_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~DeviceBuffer() { release(memory_); }

  // Room for so many, the old content is given up.
  void reserve(std::int64_t room) {
    if (room <= room_) return;
    release(std::exchange(memory_, nullptr));
    room_ = 0;
    memory_ = static_cast<T*>(allocate(static_cast<std::size_t>(room) * sizeof(T)));
    room_ = room;
  }
  void assign_zeros(std::int64_t size) {
    reserve(size);
    fill_zeros(memory_, static_cast<std::size_t>(size) * sizeof(T));
  }
  T* data() const { return memory_; }
  std::int64_t room() const { return room_; }

 private:
  T* memory_ = nullptr;
  std::int64_t room_ = 0;
};

template <class T>
void copy_in(const DeviceBuffer<T>& to, std::span<const T> from) {
  copy_in(to.data(), from.data(), from.size_bytes());
}
template <class T>
T copy_out(const DeviceBuffer<T>& from) {
  T value{};
  copy_out(&value, from.data(), sizeof(T));
  return value;
}

}  // namespace gradsync::cuda
