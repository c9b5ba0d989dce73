#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loads/cpu/kernels_blocks.cpp"
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

// Blocks that share a scale. Plain loops, vectorised by the compiler for each instruction set.
using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<std::uint32_t>;

inline std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & kMagnitude; }

// e4m3: sign, 4 bits of exponent with bias 7, 3 of mantissa; largest 448 = 0x7e, NaN 0x7f, no infinity; below 2^-6
// steps of 2^-9.
float to_fp8_block(const float* x, std::int64_t n, std::uint8_t* codes) {
  constexpr float kLargest = 448;
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, magnitude_of(x[i]));
  if (largest >= kInfinity) {
    for (std::int64_t i = 0; i < n; ++i) codes[i] = 0x7f;
    return std::numeric_limits<float>::quiet_NaN();
  }
  // A scale that is no normal number would have no finite inverse.
  const float scale = std::max(std::bit_cast<float>(largest) / kLargest, 0x1p-126F);
  const float inverse = 1 / scale;
  for (std::int64_t i = 0; i < n; ++i) {
    const float scaled = std::min(std::bit_cast<float>(magnitude_of(x[i])) * inverse, kLargest);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(scaled);
    const std::uint32_t normal = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120U << 3);
    const std::uint32_t small = std::bit_cast<std::uint32_t>(scaled + 0x1p14F) & 0xff;  // an ulp there is 2^-9
    const std::uint32_t code = scaled < 0x1p-6F ? small : normal;
    codes[i] = static_cast<std::uint8_t>(code | (std::bit_cast<std::uint32_t>(x[i]) >> 31 << 7));
  }
  return scale;
}

void add_fp8_block(const std::uint8_t* codes, std::int64_t n, float scale, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t magnitude = codes[i] & 0x7fU, sign = static_cast<std::uint32_t>(codes[i] >> 7) << 31;
    const float normal = std::bit_cast<float>((magnitude << 20) + (120U << 23));
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9F;
    const float value = (magnitude < 8 ? small : normal) * scale;
    sum[i] += std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign);
  }
}

#if HWY_TARGET != HWY_SCALAR
// Both halves of 32 × 32 bits, a lane each.
template <class V>
inline void multiply_wide(V x, V factor, V& high, V& low) {
  const Words d;
  const hn::Repartition<std::uint64_t, Words> wide;
  const auto even = hn::MulEven(x, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), factor);
  const auto lower = hn::Set(wide, 0xffffffff);
  high = hn::BitCast(d, hn::Or(hn::ShiftRight<32>(even), hn::AndNot(lower, odd)));
  low = hn::BitCast(d, hn::Or(hn::And(even, lower), hn::ShiftLeft<32>(odd)));
}
#endif

// As many counters side by side as a vector has lanes.
void draw(std::uint64_t key, std::uint64_t first, std::uint64_t high, std::int64_t words, std::uint32_t* out) {
  std::int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  const Words d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto factor_a = hn::Set(d, 0xD2511F53), factor_c = hn::Set(d, 0xCD9E8D57);
  // Only where the lower half of the counter does not run over.
  for (; done + 4 * lanes <= words && (first & 0xffffffff) + 0x1000 < 0xffffffff;
       done += 4 * lanes, first += static_cast<std::uint64_t>(lanes)) {
    auto a = hn::Iota(d, static_cast<std::uint32_t>(first)), b = hn::Set(d, static_cast<std::uint32_t>(first >> 32));
    auto c = hn::Set(d, static_cast<std::uint32_t>(high)), e = hn::Set(d, static_cast<std::uint32_t>(high >> 32));
    auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
      auto left_high = a, left_low = a, right_high = a, right_low = a;
      multiply_wide(a, factor_a, left_high, left_low);
      multiply_wide(c, factor_c, right_high, right_low);
      a = hn::Xor(hn::Xor(right_high, b), hn::Set(d, key0));
      b = right_low;
      c = hn::Xor(hn::Xor(left_high, e), hn::Set(d, key1));
      e = left_low;
    }
    hn::StoreInterleaved4(a, b, c, e, d, out + done);
  }
#endif
  for (; done < words; done += 4, ++first) {
    const PhiloxWords four = philox(key, first, high);
    for (std::int64_t w = 0; w < 4 && done + w < words; ++w) out[done + w] = four[static_cast<std::size_t>(w)];
  }
}

// In double, so that nothing that is finite overflows.
double sum_of_squares(const float* x, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, hn::ScalableTag<double>> half;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto left = hn::PromoteTo(d, hn::LoadU(half, x + i)),
               right = hn::PromoteTo(d, hn::LoadU(half, x + i + lanes));
    a = hn::MulAdd(left, left, a);
    b = hn::MulAdd(right, right, b);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

float to_qsgd_block(const float* x, std::int64_t n, int levels, std::uint64_t key, std::uint64_t first_index,
                    std::uint64_t step, std::uint8_t* codes) {
  const double squares = sum_of_squares(x, n);
  const auto norm = static_cast<float>(std::sqrt(squares));
  if (!(norm <= std::numeric_limits<float>::max())) {
    for (std::int64_t i = 0; i < n; ++i) codes[i] = 0;
    return std::numeric_limits<float>::quiet_NaN();
  }
  const float unit = norm / static_cast<float>(levels);
  // Below the smallest normal number nothing is worth a level: 0 / 0 and overflow of the inverse are avoided.
  const float inverse = unit >= 0x1p-126F ? 1 / unit : 0;
  constexpr std::int64_t kAtOnce = 64;
  std::uint32_t words[kAtOnce];
  for (std::int64_t begin = 0; begin < n; begin += kAtOnce) {
    draw(key, (first_index + static_cast<std::uint64_t>(begin)) / 4, step, kAtOnce, words);
    for (std::int64_t i = begin, end = std::min(n, begin + kAtOnce); i < end; ++i) {
      const float u = uniform(words[i - begin]);
      // Not negative, so cutting off is rounding down.
      const auto drawn = static_cast<std::int32_t>(std::bit_cast<float>(magnitude_of(x[i])) * inverse + u);
      const auto code = static_cast<std::uint32_t>(std::min(drawn, levels));
      codes[i] = static_cast<std::uint8_t>(code | std::bit_cast<std::uint32_t>(x[i]) >> 31 << 7);
    }
  }
  return unit;
}

void add_qsgd_block(const std::uint8_t* codes, std::int64_t n, float unit, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>(static_cast<std::int32_t>(codes[i] & 0x7fU)) * unit;
    const std::uint32_t sign = static_cast<std::uint32_t>(codes[i] >> 7) << 31;
    sum[i] += std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign);
  }
}

}  // namespace gradsync::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradsync::kernels {

HWY_EXPORT(to_fp8_block);
HWY_EXPORT(add_fp8_block);
HWY_EXPORT(draw);
HWY_EXPORT(to_qsgd_block);
HWY_EXPORT(add_qsgd_block);

float to_fp8_block(const float* x, std::int64_t n, std::uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(to_fp8_block)(x, n, codes);
}
void add_fp8_block(const std::uint8_t* codes, std::int64_t n, float scale, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_fp8_block)(codes, n, scale, sum);
}
void draw(std::uint64_t key, std::uint64_t first, std::uint64_t high, std::int64_t words, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(draw)(key, first, high, words, out);
}
float to_qsgd_block(const float* x, std::int64_t n, int levels, std::uint64_t key, std::uint64_t first_index,
                    std::uint64_t step, std::uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(to_qsgd_block)(x, n, levels, key, first_index, step, codes);
}
void add_qsgd_block(const std::uint8_t* codes, std::int64_t n, float unit, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_qsgd_block)(codes, n, unit, sum);
}

}  // namespace gradsync::kernels
#endif
