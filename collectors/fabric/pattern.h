// Pattern: what every rank sends, and so what every rank must receive, bit for bit. Pure.
//
//   element i of rank r's vector = (hash(i) + r) mod M
//
// Small whole numbers: their sums are exact in the element's type in any order, so a single wrong bit counts. A block
// at the wrong place, from the wrong rank or added twice gives other numbers.
//
//   sums       M − 1 = limit / ranks, at most 60; limit: half 2048 (its largest run of whole numbers), int8 127,
//              float 2^20. More ranks than the limit: M = ranks, and 1 where the value is below the limit, else 0, so
//              that each sum is the limit
//   no sums    M = 2048 (half), 127 (int8), 65521 (float)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectors/fabric/backend.h"

namespace gradsync {

// Elements of one rank's two buffers.
std::int64_t elements_sent(const FabricCall& call, int ranks);
std::int64_t elements_received(const FabricCall& call, int ranks);

class Pattern {
 public:
  Pattern(const FabricCall& call, int rank, int ranks);

  std::vector<std::byte> sent() const;
  // What a timed call sends in place of it. Halves that a CPU adds one by one take as long as their branches are hard to
  // foresee: of both signs, from 2^-24 to 2^-9, two thirds of them subnormal, as gradients of a mean are. On an AMD EPYC
  // 8 to 12 ns an element, against 4 to 5 of zeros. Sums of these round, so they cannot be checked. Of other types sent().
  std::vector<std::byte> lifelike() const;
  // Elements of `received` that are not what they must be. Bytes behind them are those of `guard`: each that is not
  // kGuard any more belongs to a write past the end, and counts.
  std::int64_t count_wrong(std::span<const std::byte> received, std::span<const std::byte> guard) const;

  static constexpr std::byte kGuard{0xa5};

 private:
  int value(int of_rank, std::int64_t index) const;
  int expected(std::int64_t index) const;
  int residue(int of_rank, std::int64_t index) const;
  int shown(int residue) const;
  std::uint32_t bits(int value) const;  // as an element of the call's type

  FabricCall call_;
  int rank_, ranks_;
  int modulus_ = 1;
  int limit_ = 0;          // values below it are 1, in sums of more ranks than the type can add up; 0: plain values
  std::vector<int> sums_;  // by hash(i) mod M
};

}  // namespace gradsync
