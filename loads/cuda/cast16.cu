// cast16: rounding to 16 bits, fp16 or bf16, to the nearest and ties to even, as on the CPU, in integers: hardware would
// give NaN other bits on each device. R 4n  W 2n; on the wire 2n.
#include "loads/cuda/cuda_load.h"
#include "loads/cuda/device_code.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256, kEach = 4;

// Below 2^-14, adding 0.5 leaves the fp16 number in the lowest bits, rounded. Too large becomes infinity.
GSD_DEVICE std::uint32_t to_fp16(float x) {
  const std::uint32_t bits = bits_of(x), magnitude = bits & kMagnitude, sign = bits >> 16 & 0x8000;
  const std::uint32_t small = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  std::uint32_t half = magnitude < (113U << 23) ? small : normal;
  if (magnitude >= (143U << 23)) half = 0x7c00;  // 65536 and more
  if (magnitude > kInfinity) half = 0x7e00;
  return half | sign;
}
GSD_DEVICE float from_fp16(std::uint32_t half) {
  const std::uint32_t magnitude = half & 0x7fff, sign = (half & 0x8000) << 16;
  const float finite = float_of(magnitude << 13) * 0x1p112F;  // denormals too
  const std::uint32_t bits = magnitude < 0x7c00 ? bits_of(finite) : kInfinity | (magnitude & 0x3ff) << 13;
  return float_of(bits | sign);
}

GSD_DEVICE std::uint32_t to_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  // A NaN whose low bits alone tell it from infinity must not round to infinity, nor over the sign.
  return (bits & kMagnitude) > kInfinity ? (bits >> 16 | 0x40) : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
GSD_DEVICE float from_bf16(std::uint32_t half) { return float_of(half << 16); }

struct alignas(8) Halves {
  std::uint16_t at[kEach];
};

template <HalfFormat kFormat>
__global__ void encode_halves(const float* x, std::int64_t n, std::uint16_t* halves, Outcome* outcome) {
  constexpr std::uint32_t kBeyond = kFormat == HalfFormat::fp16 ? 0x7c00 : 0x7f80;
  const std::int64_t begin = thread_number() * kEach;
  if (begin >= n) return;
  const bool whole = begin + kEach <= n;
  Float4 four{};
  if (whole) four = *reinterpret_cast<const Float4*>(x + begin);
  for (unsigned j = 0; !whole && begin + j < n; ++j) four.at[j] = x[begin + j];
  Halves out{};
  bool finite = true;
  for (unsigned j = 0; j < kEach; ++j) {
    const std::uint32_t half = kFormat == HalfFormat::fp16 ? to_fp16(four.at[j]) : to_bf16(four.at[j]);
    finite = finite && (half & 0x7fff) < kBeyond;
    out.at[j] = static_cast<std::uint16_t>(half);
  }
  if (whole) *reinterpret_cast<Halves*>(halves + begin) = out;
  for (unsigned j = 0; !whole && begin + j < n; ++j) halves[begin + j] = out.at[j];
  if (!finite) atomicOr(&outcome->not_finite, 1U);
}

template <HalfFormat kFormat>
__global__ void decode_halves(const PayloadView* views, int ranks, std::int64_t n, float* sum) {
  const std::int64_t begin = thread_number() * kEach;
  if (begin >= n) return;
  const bool whole = begin + kEach <= n;
  Float4 total{};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto* halves = reinterpret_cast<const std::uint16_t*>(views[rank].codes) + begin;
    Halves in{};
    if (whole) in = *reinterpret_cast<const Halves*>(halves);
    for (unsigned j = 0; !whole && begin + j < n; ++j) in.at[j] = halves[j];
    for (unsigned j = 0; j < kEach; ++j)
      total.at[j] += kFormat == HalfFormat::fp16 ? from_fp16(in.at[j]) : from_bf16(in.at[j]);
  }
  if (whole) *reinterpret_cast<Float4*>(sum + begin) = total;
  for (unsigned j = 0; !whole && begin + j < n; ++j) sum[begin + j] = total.at[j];
}

class Cast16 final : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::cast,
            .keeps_residual = asked_for_residual(),
            .relative_error = is_fp16() ? 0x1p-11 : 0x1p-8,
            .absolute_error = is_fp16() ? 0x1p-25 : 0};
  }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {2 * static_cast<double>(n_) * static_cast<double>(payloads.size()), 4 * static_cast<double>(n_), 0};
  }

 private:
  bool is_fp16() const { return options_.half == HalfFormat::fp16; }
  void allocate() override {}
  Rooms rooms() const override { return {0, 0, 2 * n_}; }
  void encode(const float* x) override {
    launch("round to halves", is_fp16() ? encode_halves<HalfFormat::fp16> : encode_halves<HalfFormat::bf16>,
           blocks_for(n_, kThreads * kEach), kThreads, x, n_, reinterpret_cast<std::uint16_t*>(own_.codes.data()),
           outcome_.data());
  }
  void decode(std::span<const PayloadView> views, const PayloadView* device_views, float* sum) override {
    launch("add halves", is_fp16() ? decode_halves<HalfFormat::fp16> : decode_halves<HalfFormat::bf16>,
           blocks_for(n_, kThreads * kEach), kThreads, device_views, static_cast<int>(views.size()), n_, sum);
  }
  Traffic encode_traffic() const override { return {4 * static_cast<double>(n_), 2 * static_cast<double>(n_), 0}; }
};

}  // namespace

std::unique_ptr<Load> make_cast16(const LoadOptions& options) { return std::make_unique<Cast16>(options); }

}  // namespace gradsync::cuda
