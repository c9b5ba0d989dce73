#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loads/cpu/kernels_halves.cpp"
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

// Signs and halves. Plain loops are vectorised by the compiler, for each instruction set.
using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<std::uint32_t>;

inline std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & kMagnitude; }

void pack_signs(const float* x, float* y, std::int64_t n, float scale, std::uint8_t* bits) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d), plus = hn::Set(d, scale), minus = hn::Set(d, -scale);
  std::int64_t i = 0;
  const auto one = [&](std::int64_t at, std::uint8_t* into) {
    auto p = hn::LoadU(d, x + at);
    if (y != nullptr) p = hn::Add(p, hn::LoadU(d, y + at));
    const auto negative = hn::Lt(p, zero);
    if (y != nullptr) hn::StoreU(hn::Sub(p, hn::IfThenElse(negative, minus, plus)), d, y + at);
    hn::StoreMaskBits(d, negative, into);
  };
  if (lanes >= 8) {
    for (; i + lanes <= n; i += lanes) one(i, bits + i / 8);
  } else {
    // Eight lanes fill a byte: narrower vectors fill it in parts.
    for (; i + 8 <= n; i += 8) {
      std::uint32_t byte = 0;
      for (std::int64_t part = 0; part < 8; part += lanes) {
        std::uint8_t some[8] = {};
        one(i + part, some);
        byte |= static_cast<std::uint32_t>(some[0]) << part;
      }
      bits[i / 8] = static_cast<std::uint8_t>(byte);
    }
  }
  for (; i < n; ++i) {
    const float p = y == nullptr ? x[i] : x[i] + y[i];
    if (i % 8 == 0) bits[i / 8] = 0;
    if (p < 0) bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1U << (i % 8));
    if (y != nullptr) y[i] = p - (p < 0 ? -scale : scale);
  }
}

void add_signs(const std::uint8_t* bits, std::int64_t n, float scale, float* sum) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto plus = hn::Set(d, scale), minus = hn::Set(d, -scale);
  std::int64_t i = 0;
  for (; lanes >= 8 && i + 64 <= n; i += lanes) {  // a mask is loaded from eight bytes
    const auto negative = hn::LoadMaskBits(d, bits + i / 8);
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), hn::IfThenElse(negative, minus, plus)), d, sum + i);
  }
  for (; i < n; ++i) sum[i] += (bits[i >> 3] >> (i & 7) & 1) != 0 ? -scale : scale;
}

bool to_fp16(const float* x, std::int64_t n, std::uint16_t* out) {
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> half;
  const hn::Rebind<std::uint16_t, Floats> bits;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(bits);
  const auto mask = hn::Set(bits, 0x7fff);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto rounded = hn::BitCast(bits, hn::DemoteTo(half, hn::LoadU(d, x + i)));
    largest = hn::Max(largest, hn::And(rounded, mask));
    hn::StoreU(rounded, bits, out + i);
  }
  bool finite = hn::AllTrue(bits, hn::Lt(largest, hn::Set(bits, 0x7c00)));
  if (i == n) return finite;
  // The rest through a vector filled up with zeros, so that it rounds the same way.
  HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
  HWY_ALIGN std::uint16_t halves[hn::MaxLanes(d)] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  hn::Store(hn::BitCast(bits, hn::DemoteTo(half, hn::Load(d, rest))), bits, halves);
  for (std::int64_t j = i; j < n; ++j) {
    out[j] = halves[j - i];
    finite = finite && (out[j] & 0x7fff) < 0x7c00;
  }
  return finite;
}

void add_fp16(const std::uint16_t* x, std::int64_t n, float* sum) {
  const Floats d;
  const hn::Rebind<hwy::float16_t, Floats> half;
  const hn::Rebind<std::uint16_t, Floats> bits;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto promote = [&](const std::uint16_t* from) {
    return hn::PromoteTo(d, hn::BitCast(half, hn::LoadU(bits, from)));
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, sum + i), promote(x + i)), d, sum + i);
  if (i == n) return;
  HWY_ALIGN std::uint16_t rest[hn::MaxLanes(d)] = {};
  HWY_ALIGN float floats[hn::MaxLanes(d)] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  hn::Store(promote(rest), d, floats);
  for (std::int64_t j = i; j < n; ++j) sum[j] += floats[j - i];
}

bool to_bf16(const float* x, std::int64_t n, std::uint16_t* out) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]), magnitude = bits & kMagnitude;
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    // A NaN whose low bits alone tell it from infinity must not round to infinity, nor over the sign.
    const std::uint32_t kept = magnitude > kInfinity ? (bits >> 16 | 0x40) : rounded;
    largest = std::max(largest, kept & 0x7fff);
    out[i] = static_cast<std::uint16_t>(kept);
  }
  return largest < 0x7f80;
}

void add_bf16(const std::uint16_t* x, std::int64_t n, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += std::bit_cast<float>(static_cast<std::uint32_t>(x[i]) << 16);
}

}  // namespace gradsync::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradsync::kernels {

HWY_EXPORT(pack_signs);
HWY_EXPORT(add_signs);
HWY_EXPORT(to_fp16);
HWY_EXPORT(add_fp16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(add_bf16);

void pack_signs(const float* x, float* y, std::int64_t n, float scale, std::uint8_t* bits) {
  HWY_DYNAMIC_DISPATCH(pack_signs)(x, y, n, scale, bits);
}
void add_signs(const std::uint8_t* bits, std::int64_t n, float scale, float* sum) {
  HWY_DYNAMIC_DISPATCH(add_signs)(bits, n, scale, sum);
}
bool to_fp16(const float* x, std::int64_t n, std::uint16_t* out) { return HWY_DYNAMIC_DISPATCH(to_fp16)(x, n, out); }
void add_fp16(const std::uint16_t* x, std::int64_t n, float* sum) { HWY_DYNAMIC_DISPATCH(add_fp16)(x, n, sum); }
bool to_bf16(const float* x, std::int64_t n, std::uint16_t* out) { return HWY_DYNAMIC_DISPATCH(to_bf16)(x, n, out); }
void add_bf16(const std::uint16_t* x, std::int64_t n, float* sum) { HWY_DYNAMIC_DISPATCH(add_bf16)(x, n, sum); }

}  // namespace gradsync::kernels
#endif
