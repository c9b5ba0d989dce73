// cast8: fp8 (e4m3) with a scale for each block of 128, which makes the block's largest magnitude 448; the codes are
// those of the CPU's load. R 4n  W n(1 + 4/128). A block that holds NaN or infinity becomes NaN.
#include "loads/cuda/block_load.h"

namespace gradsync::cuda {
namespace {

constexpr float kLargest = 448;

struct Fp8 {
  static constexpr std::int64_t kBlock = 128;
  GSD_DEVICE static std::uint8_t code(float x, float inverse) {
    const float scaled = least(float_of(bits_of(x) & kMagnitude) * inverse, kLargest);
    const std::uint32_t bits = bits_of(scaled);
    const std::uint32_t normal = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120U << 3);
    const std::uint32_t small = bits_of(scaled + 0x1p14F) & 0xff;  // an ulp there is 2^-9
    return static_cast<std::uint8_t>((scaled < 0x1p-6F ? small : normal) | (bits_of(x) >> 31 << 7));
  }
  GSD_DEVICE static float value(std::uint8_t code, float scale) {
    const std::uint32_t magnitude = code & 0x7fU, sign = std::uint32_t{code} >> 7 << 31;
    const float normal = float_of((magnitude << 20) + (120U << 23));
    const float small = static_cast<float>(magnitude) * 0x1p-9F;
    return float_of(bits_of((magnitude < 8 ? small : normal) * scale) ^ sign);
  }
};

__global__ void encode_fp8(const float* x, std::int64_t n, std::uint8_t* codes, float* scales, Outcome* outcome) {
  const std::int64_t block = thread_number() / 32;
  const std::int64_t first = block * Fp8::kBlock + kFour * (threadIdx.x % 32);
  const Float4 four = load_four(x, first, n);
  std::uint32_t largest = 0;
  for (unsigned j = 0; j < kFour; ++j) largest = most(largest, bits_of(four.at[j]) & kMagnitude);
  largest = warp_largest(largest);
  const bool finite = largest < kInfinity;
  // A scale that is no normal number would have no finite inverse.
  const float scale = most(float_of(largest) / kLargest, 0x1p-126F);
  Bytes4 out;
  for (unsigned j = 0; j < kFour; ++j) out.at[j] = finite ? Fp8::code(four.at[j], 1 / scale) : 0x7f;
  store_four(out, first, n, codes);
  if (threadIdx.x % 32 != 0 || first >= n) return;
  scales[block] = finite ? scale : float_of(kNan);
  if (!finite) atomicOr(&outcome->not_finite, 1U);
}

class Cast8 final : public BlockLoad<Fp8> {
 public:
  using BlockLoad::BlockLoad;
  // As of the CPU's load, where the numbers are explained.
  LoadTraits traits() const override {
    return {.kind = LoadKind::cast,
            .keeps_residual = asked_for_residual(),
            .relative_error = 0x1.001p-4,
            .block_error = 0x1.001p-10 / 448,
            .block = Fp8::kBlock};
  }

 private:
  void encode(const float* x) override {
    launch("encode fp8", encode_fp8, grid(), kBlockThreads, x, n_, own_.codes.data(), own_.values.data(),
           outcome_.data());
  }
};

}  // namespace

std::unique_ptr<Load> make_cast8(const LoadOptions& options) { return std::make_unique<Cast8>(options); }

}  // namespace gradsync::cuda
