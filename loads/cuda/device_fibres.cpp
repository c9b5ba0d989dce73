// The device of tests: this machine's memory, kernels under fibres, CUB's sort replaced by the library's.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <numeric>
#include <vector>

#include "loads/cuda/device.h"
#include "loads/cuda/sort.h"

namespace gradsync::cuda {
namespace {

// Freshly allocated memory holds anything: what nobody has written must not look like a zero.
constexpr int kAnything = 0x6b;

using Moment = std::chrono::steady_clock::time_point;
Moment& moment(void* place) { return *static_cast<Moment*>(place); }

}  // namespace

Result<std::string> find_device() { return std::string("fibres"); }
int multiprocessors() { return 1; }
std::int64_t cache_bytes() { return std::int64_t{32} << 20; }

void* allocate(std::size_t bytes) {
  void* memory = ::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{256});
  std::memset(memory, kAnything, bytes);
  return memory;
}
void release(void* memory) noexcept { ::operator delete (memory, std::align_val_t{256}); }
void copy_in(void* to, const void* from, std::size_t bytes) { copy_within(to, from, bytes); }
void copy_out(void* to, const void* from, std::size_t bytes) { copy_within(to, from, bytes); }
void copy_within(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
void fill_zeros(void* memory, std::size_t bytes) {
  if (bytes > 0) std::memset(memory, 0, bytes);
}
void check_launch(const char*) {}

Stopwatch::Stopwatch() : begin_(new Moment), end_(new Moment) {}
Stopwatch::~Stopwatch() {
  delete &moment(begin_);
  delete &moment(end_);
}
void Stopwatch::start() { moment(begin_) = std::chrono::steady_clock::now(); }
void Stopwatch::stop() { moment(end_) = std::chrono::steady_clock::now(); }
double Stopwatch::seconds() const { return std::chrono::duration<double>(moment(end_) - moment(begin_)).count(); }

struct Sorter::Scratch {};
Sorter::Sorter() = default;
Sorter::~Sorter() = default;
void Sorter::prepare(std::int64_t) {}
void Sorter::sort_pairs(const std::uint32_t* keys, std::uint32_t* sorted_keys, const std::uint32_t* values,
                        std::uint32_t* sorted_values, std::int64_t n) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted_keys[i] = keys[order[i]];
    sorted_values[i] = values[order[i]];
  }
}
void Sorter::sort_keys(const std::uint32_t* keys, std::uint32_t* sorted, std::int64_t n) {
  std::copy_n(keys, n, sorted);
  std::sort(sorted, sorted + n);
}

}  // namespace gradsync::cuda
