// Buffer: numbers in memory that is aligned to cache lines, whose pages are there before anything is timed, and that
// can become shorter and longer within its capacity without being written to.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace gradsync {

template <class T>
class Buffer {
 public:
  // Room for `capacity` numbers; the old content is given up. Every page is touched.
  void reserve(std::int64_t capacity) {
    size_ = 0;
    if (capacity <= capacity_) return;
    memory_.reset();
    capacity_ = 0;
    const std::size_t bytes = static_cast<std::size_t>(capacity) * sizeof(T);
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    memory_.reset(static_cast<T*>(std::aligned_alloc(alignment, whole)));
    if (memory_ == nullptr) throw std::bad_alloc();
    // Asked for before the first touch. Where it is refused, small pages do.
    if (alignment == kHugePage) ::madvise(memory_.get(), whole, MADV_HUGEPAGE);
    std::memset(memory_.get(), 0, whole);
    capacity_ = capacity;
  }
  // Within the capacity; what is new holds anything.
  void resize(std::int64_t size) { size_ = size; }
  // `size` zeros.
  void assign_zeros(std::int64_t size) {
    reserve(size);
    size_ = size;
    if (size > 0) std::memset(memory_.get(), 0, static_cast<std::size_t>(size) * sizeof(T));
  }

  std::int64_t size() const { return size_; }
  std::int64_t capacity() const { return capacity_; }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](std::int64_t i) { return memory_.get()[i]; }
  const T& operator[](std::int64_t i) const { return memory_.get()[i]; }
  std::span<T> span() { return {data(), static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data(), static_cast<std::size_t>(size_)}; }

 private:
  static constexpr std::size_t kCacheLine = 64, kHugePage = std::size_t{2} << 20;
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
  std::int64_t size_ = 0, capacity_ = 0;
};

}  // namespace gradsync
