// How dgc finds its threshold, on whatever device counts: as Deep Gradient Compression does (Lin, Han, Mao, Wang, Dally,
// ICLR'18). Counting is repeated until between 0.7 K and 1.3 K are above the threshold:
//
//   sample 1 % (at least 2 / ratio) → its (share × size)-th largest magnitude
//   count; too many: 1.3 × the threshold, too few: 0.7 ×; once both sides are known, halfway between; at most 10 times
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace gradsync::dgc {

inline constexpr double kLeast = 0.7, kMost = 1.3;  // times K
inline constexpr int kTries = 10;

inline std::int64_t least_of(std::int64_t wanted) {
  return static_cast<std::int64_t>(std::ceil(kLeast * static_cast<double>(wanted)));
}
inline std::int64_t most_of(std::int64_t wanted) {
  return std::max(wanted, static_cast<std::int64_t>(kMost * static_cast<double>(wanted)));
}

// Of a vector of `n` elements.
inline std::int64_t sample_size(std::int64_t n, double ratio) {
  return std::min(n, static_cast<std::int64_t>(std::max(0.01 * static_cast<double>(n), 2 / ratio)));
}

// How many magnitudes of the sample are larger than the first threshold.
inline std::int64_t rank_in_sample(std::int64_t sample_size, double ratio) {
  return std::min<std::int64_t>(sample_size - 1, std::llround(static_cast<double>(sample_size) * ratio));
}

// The bits of a magnitude that `least` to `most` elements reach, from those of the first threshold; 0: none was found.
// `count_above(bits)` → std::int64_t.
template <class CountAbove>
std::uint32_t search(std::uint32_t first, std::int64_t least, std::int64_t most, const CountAbove& count_above) {
  float threshold = std::bit_cast<float>(first), too_low = 0, too_high = 0;
  for (int i = 0; i < kTries && std::isnormal(threshold); ++i) {
    const std::int64_t count = count_above(std::bit_cast<std::uint32_t>(threshold));
    if (count >= least && count <= most) return std::bit_cast<std::uint32_t>(threshold);
    (count > most ? too_low : too_high) = threshold;
    const bool between = too_low > 0 && too_high > 0;
    threshold = between ? std::sqrt(too_low) * std::sqrt(too_high) : threshold * (count > most ? 1.3F : 0.7F);
  }
  return 0;
}

}  // namespace gradsync::dgc
