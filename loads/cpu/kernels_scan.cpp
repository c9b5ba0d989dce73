#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loads/cpu/kernels_scan.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each instruction set
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "loads/cpu/kernels.h"
#include "loads/philox.h"

HWY_BEFORE_NAMESPACE();
namespace gradsync::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Passes over the whole vector. Where vectors end, one element at a time does the rest.
using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<std::uint32_t>;

inline std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & kMagnitude; }

std::uint32_t sum_of_bits(const float* x, std::int64_t n) {
  const Words d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto* words = reinterpret_cast<const std::uint32_t*>(x);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, words + i));
    b = hn::Add(b, hn::LoadU(d, words + i + lanes));
    c = hn::Add(c, hn::LoadU(d, words + i + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, words + i + 3 * lanes));
  }
  std::uint32_t sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < n; ++i) sum += words[i];
  return sum;
}

template <class Get>
double sum_in_blocks(std::int64_t n, const Get& get) {
  // Sums of floats lose digits: a few thousand at a time, then double.
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  double total = 0;
  std::int64_t i = 0;
  while (i + 4 * lanes <= n) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (const std::int64_t end = std::min(n - 4 * lanes, i + 4096); i <= end; i += 4 * lanes) {
      a = hn::Add(a, hn::Abs(get(d, i)));
      b = hn::Add(b, hn::Abs(get(d, i + lanes)));
      c = hn::Add(c, hn::Abs(get(d, i + 2 * lanes)));
      e = hn::Add(e, hn::Abs(get(d, i + 3 * lanes)));
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e)))));
  }
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) total += static_cast<double>(hn::GetLane(hn::Abs(get(one, i))));
  return total;
}

double sum_of_magnitudes(const float* x, const float* y, std::int64_t n) {
  if (y == nullptr) return sum_in_blocks(n, [x](auto d, std::int64_t i) { return hn::LoadU(d, x + i); });
  return sum_in_blocks(n, [x, y](auto d, std::int64_t i) { return hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, y + i)); });
}

void add(const float* x, const float* y, float* sum, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] = x[i] + y[i];
}

void apply_momentum(const float* gradient, float momentum, float* velocity, float* parameters, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    parameters[i] += velocity[i];
  }
}

bool all_finite(const float* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, magnitude_of(x[i]));
  return largest < kInfinity;
}

std::int64_t count_at_least(const float* x, std::int64_t n, std::uint32_t magnitude) {
  std::int64_t count = 0;
  for (std::int64_t begin = 0; begin < n; begin += 1 << 20) {
    std::uint32_t some = 0;
    for (std::int64_t i = begin, end = std::min(n, begin + (1 << 20)); i < end; ++i)
      some += magnitude_of(x[i]) >= magnitude ? 1 : 0;
    count += some;
  }
  return count;
}

// One bit for each of 64 elements: at least `below` + 1.
inline void mark(const float* x, std::int32_t below, std::uint64_t* word) {
  const Words du;
  const hn::ScalableTag<std::int32_t> di;  // magnitudes have no sign: signed comparison is right, and cheaper
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(du));
  const auto mask = hn::Set(du, kMagnitude);
  const auto least = hn::Set(di, below);
  const auto* words = reinterpret_cast<const std::uint32_t*>(x);
  if (lanes >= 8) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(word);  // little-endian, as the bits of a mask are
    for (std::int64_t i = 0; i < 64; i += lanes) {
      const auto magnitude = hn::BitCast(di, hn::And(hn::LoadU(du, words + i), mask));
      hn::StoreMaskBits(di, hn::Gt(magnitude, least), bytes + i / 8);
    }
  } else {
    std::uint64_t bits = 0;
    for (int i = 0; i < 64; ++i)
      bits |= static_cast<std::uint64_t>(static_cast<std::int32_t>(words[i] & kMagnitude) > below ? 1 : 0) << i;
    *word = bits;
  }
}

// Marks of a block first, then their positions, four at a time without asking how many there are: what is rare costs no
// mispredicted branch for each. Values come last, from lines that are still in the cache. Meanwhile the next block is on
// its way: between two blocks memory would have nothing to do.
std::int64_t compact(const float* x, std::int64_t begin, std::int64_t end, std::uint32_t magnitude,
                     std::uint32_t* indices, float* values, std::int64_t room) {
  constexpr std::int64_t kWords = 64;
  std::uint64_t marks[kWords];
  std::int64_t found = 0, i = begin;
  while (i + 64 <= end) {
    const std::int64_t words = std::min(kWords, (end - i) / 64), before = found;
    for (std::int64_t w = 0; w < words; ++w) {
      for (int line = 0; line < 4; ++line) hwy::Prefetch(x + i + 64 * (kWords + w) + 16 * line);
      mark(x + i + 64 * w, static_cast<std::int32_t>(magnitude) - 1, marks + w);
    }
    for (std::int64_t w = 0; w < words; ++w) {
      std::uint64_t left = marks[w];
      const int count = std::popcount(left);
      const auto first = static_cast<std::uint32_t>(i + 64 * w);
      std::uint32_t* to = indices + found;
      for (int done = 0; done < 4 || done < count; done += 4)
        for (int j = 0; j < 4; ++j, left &= left - 1)
          to[done + j] = first + static_cast<std::uint32_t>(std::countr_zero(left));
      found += count;
      if (found > room) return -1;
    }
    for (std::int64_t j = before; j < found; ++j) values[j] = x[indices[j]];
    i += 64 * words;
  }
  for (; i < end; ++i) {
    if (magnitude_of(x[i]) < magnitude) continue;
    if (found == room) return -1;
    indices[found] = static_cast<std::uint32_t>(i);
    values[found++] = x[i];
  }
  return found;
}

void histogram(const float* x, std::int64_t n, int shift, std::uint32_t* bins) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(x);
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const std::uint32_t a = (words[i] & kMagnitude) >> shift, b = (words[i + 1] & kMagnitude) >> shift;
    const std::uint32_t c = (words[i + 2] & kMagnitude) >> shift, e = (words[i + 3] & kMagnitude) >> shift;
    ++bins[a];
    ++bins[b];
    ++bins[c];
    ++bins[e];
  }
  for (; i < n; ++i) ++bins[(words[i] & kMagnitude) >> shift];
}

void histogram_within(const float* x, std::int64_t n, int known, std::uint32_t prefix, int shift, std::uint32_t* bins) {
  const std::uint32_t low = (1U << (known - shift)) - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t magnitude = magnitude_of(x[i]);
    if (magnitude >> known == prefix) ++bins[magnitude >> shift & low];
  }
}

const char* instruction_set() { return hwy::TargetName(HWY_TARGET); }

}  // namespace gradsync::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradsync::kernels {

HWY_EXPORT(sum_of_bits);
HWY_EXPORT(sum_of_magnitudes);
HWY_EXPORT(add);
HWY_EXPORT(all_finite);
HWY_EXPORT(apply_momentum);
HWY_EXPORT(count_at_least);
HWY_EXPORT(compact);
HWY_EXPORT(histogram);
HWY_EXPORT(histogram_within);
HWY_EXPORT(instruction_set);

std::uint32_t sum_of_bits(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(sum_of_bits)(x, n); }
double sum_of_magnitudes(const float* x, const float* y, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_of_magnitudes)(x, y, n);
}
void add(const float* x, const float* y, float* sum, std::int64_t n) { HWY_DYNAMIC_DISPATCH(add)(x, y, sum, n); }
void apply_momentum(const float* gradient, float momentum, float* velocity, float* parameters, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(apply_momentum)(gradient, momentum, velocity, parameters, n);
}
bool all_finite(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(all_finite)(x, n); }
std::int64_t count_at_least(const float* x, std::int64_t n, std::uint32_t magnitude) {
  return HWY_DYNAMIC_DISPATCH(count_at_least)(x, n, magnitude);
}
std::int64_t compact(const float* x, std::int64_t begin, std::int64_t end, std::uint32_t magnitude,
                     std::uint32_t* indices, float* values, std::int64_t room) {
  return HWY_DYNAMIC_DISPATCH(compact)(x, begin, end, magnitude, indices, values, room);
}
void histogram(const float* x, std::int64_t n, int shift, std::uint32_t* bins) {
  HWY_DYNAMIC_DISPATCH(histogram)(x, n, shift, bins);
}
void histogram_within(const float* x, std::int64_t n, int known, std::uint32_t prefix, int shift, std::uint32_t* bins) {
  HWY_DYNAMIC_DISPATCH(histogram_within)(x, n, known, prefix, shift, bins);
}
const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(instruction_set)(); }

}  // namespace gradsync::kernels
#endif
