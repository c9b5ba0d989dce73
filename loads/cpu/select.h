// Selection by magnitude on the CPU: the parts that several loads are made of.
//
// A cut says which entries of a vector are chosen:
//
//   magnitude   0 ─────────── tie ─ above ───────────▶ infinity, NaN
//                              │     └ all of these
//                              └ the first `ties` of these, by index
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loads/cpu/kernels.h"
#include "loads/load.h"

namespace gradsync {

inline constexpr std::int64_t kSelectSlack = kernels::kSlack;

struct Cut {
  std::uint32_t above = 0;  // chosen when magnitude >= above
  std::uint32_t tie = 0;
  std::int64_t ties = 0;
  std::int64_t count = 0;  // chosen in all
  double passes = 0;       // over the whole vector
};

// Exactly `wanted` (at most n), by a radix of 12, 10 and 9 bits. Ends early when a whole bin fits: then up to `most`.
Cut find_cut(std::span<const float> x, std::int64_t wanted, std::int64_t most, int threads);

// Bins of 2^16 (exponent and 8 bits of mantissa) of the whole vector, over `threads`.
void count_bins(std::span<const float> x, int shift, std::vector<std::uint32_t>& bins, int threads);
// The highest bin from which upwards at least `wanted` are counted; how many are above it.
struct Bin {
  std::uint32_t number = 0;
  std::int64_t above = 0, inside = 0;
};
Bin find_bin(std::span<const std::uint32_t> bins, std::int64_t wanted);

// Entries in the order of their indices, with room for `most` + kSelectSlack.
struct Entries {
  Buffer<std::uint32_t> indices;
  Buffer<float> values;
};
// All with at least `magnitude` into `out` (room for `most`), which is cut to their number; false when there are more.
// `scratch` holds one list for each thread beyond the first.
bool gather(std::span<const float> x, std::uint32_t magnitude, std::int64_t most, std::vector<Entries>& scratch,
            Payload& out, int threads);
// What the cut chooses.
void gather_cut(std::span<const float> x, const Cut& cut, std::vector<Entries>& scratch, Payload& out, int threads);
// Keeps of a payload what the cut of its values chooses.
void keep_cut(const Cut& cut, Payload& payload);

bool all_finite(std::span<const float> values);

}  // namespace gradsync
