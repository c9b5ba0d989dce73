// Sorting on the device: CUB's radix sort, stable. (Tests of kernels on this machine: the library's.)
#pragma once

#include <cstdint>
#include <memory>

namespace gradsync::cuda {

class Sorter {
 public:
  Sorter();
  ~Sorter();
  // Scratch memory for up to `elements`, outside of what is timed.
  void prepare(std::int64_t elements);
  // Ascending keys of 31 bits; none of the four may be the same memory.
  void sort_pairs(const std::uint32_t* keys, std::uint32_t* sorted_keys, const std::uint32_t* values,
                  std::uint32_t* sorted_values, std::int64_t n);
  void sort_keys(const std::uint32_t* keys, std::uint32_t* sorted, std::int64_t n);

 private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace gradsync::cuda
