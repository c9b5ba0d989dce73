#include <cub/device/device_radix_sort.cuh>

#include "loads/cuda/device.h"
#include "loads/cuda/sort.h"

namespace gradsync::cuda {

struct Sorter::Scratch {
  DeviceBuffer<unsigned char> memory;
};

Sorter::Sorter() : scratch_(std::make_unique<Scratch>()) {}
Sorter::~Sorter() = default;

namespace {

constexpr int kBits = 31;
void check(cudaError_t answer) {
  if (answer != cudaSuccess) throw DeviceFailure(std::string("sort: ") + cudaGetErrorString(answer));
}

}  // namespace

void Sorter::prepare(std::int64_t elements) {
  std::size_t pairs = 0, keys = 0;
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;
  check(cub::DeviceRadixSort::SortPairs(nullptr, pairs, in, out, in, out, elements, 0, kBits));
  check(cub::DeviceRadixSort::SortKeys(nullptr, keys, in, out, elements, 0, kBits));
  scratch_->memory.reserve(static_cast<std::int64_t>(pairs > keys ? pairs : keys));
}

void Sorter::sort_pairs(const std::uint32_t* keys, std::uint32_t* sorted_keys, const std::uint32_t* values,
                        std::uint32_t* sorted_values, std::int64_t n) {
  auto bytes = static_cast<std::size_t>(scratch_->memory.room());
  check(cub::DeviceRadixSort::SortPairs(scratch_->memory.data(), bytes, keys, sorted_keys, values, sorted_values, n, 0,
                                        kBits));
}

void Sorter::sort_keys(const std::uint32_t* keys, std::uint32_t* sorted, std::int64_t n) {
  auto bytes = static_cast<std::size_t>(scratch_->memory.room());
  check(cub::DeviceRadixSort::SortKeys(scratch_->memory.data(), bytes, keys, sorted, n, 0, kBits));
}

}  // namespace gradsync::cuda
