#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loads/cpu/kernels_matrix.cpp"
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

// Thin matrix products.
using Floats = hn::ScalableTag<float>;
using Words = hn::ScalableTag<std::uint32_t>;

inline std::uint32_t magnitude_of(float x) { return std::bit_cast<std::uint32_t>(x) & kMagnitude; }

void multiply_row(const float* line, const float* factor, std::int64_t columns, std::int64_t r, float* p,
                  std::int64_t stride) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t c = 0; c < r; ++c, factor += columns) {
    auto a = hn::Zero(d), b = a;
    std::int64_t j = 0;
    for (; j + 2 * lanes <= columns; j += 2 * lanes) {
      a = hn::MulAdd(hn::LoadU(d, line + j), hn::LoadU(d, factor + j), a);
      b = hn::MulAdd(hn::LoadU(d, line + j + lanes), hn::LoadU(d, factor + j + lanes), b);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
    for (; j < columns; ++j) sum += line[j] * factor[j];
    p[c * stride] = sum;
  }
}

void add_to_columns(const float* line, const float* p, std::int64_t stride, std::int64_t columns, std::int64_t r,
                    float* sum) {
  for (std::int64_t c = 0; c < r; ++c, sum += columns) {
    const float weight = p[c * stride];
    for (std::int64_t j = 0; j < columns; ++j) sum[j] += weight * line[j];
  }
}

void add_row(const float* p, std::int64_t stride, const float* factor, std::int64_t columns, std::int64_t r,
             float* line) {
  for (std::int64_t c = 0; c < r; ++c, factor += columns) {
    const float weight = p[c * stride];
    for (std::int64_t j = 0; j < columns; ++j) line[j] += weight * factor[j];
  }
}

}  // namespace gradsync::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gradsync::kernels {

HWY_EXPORT(multiply_row);
HWY_EXPORT(add_to_columns);
HWY_EXPORT(add_row);

void multiply_row(const float* line, const float* factor, std::int64_t columns, std::int64_t r, float* p,
                  std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(multiply_row)(line, factor, columns, r, p, stride);
}
void add_to_columns(const float* line, const float* p, std::int64_t stride, std::int64_t columns, std::int64_t r,
                    float* sum) {
  HWY_DYNAMIC_DISPATCH(add_to_columns)(line, p, stride, columns, r, sum);
}
void add_row(const float* p, std::int64_t stride, const float* factor, std::int64_t columns, std::int64_t r,
             float* line) {
  HWY_DYNAMIC_DISPATCH(add_row)(p, stride, factor, columns, r, line);
}

}  // namespace gradsync::kernels
#endif
