// qsgd: stochastic rounding to levels of the block's length, in blocks of 512; random numbers are a function of seed,
// step and index (loads/cpu/qsgd.cpp has the formulas). R 4n  W n(1 + 4/512).
#include "loads/cuda/block_load.h"
#include "loads/philox.h"

namespace gradsync::cuda {
namespace {

struct Levels {
  static constexpr std::int64_t kBlock = 512;
  GSD_DEVICE static float value(std::uint8_t code, float unit) {
    const std::uint32_t sign = std::uint32_t{code} >> 7 << 31;
    return float_of(bits_of(static_cast<float>(code & 0x7fU) * unit) ^ sign);
  }
};
constexpr unsigned kRounds = Levels::kBlock / (32 * kFour);  // of a warp over its block

__global__ void encode_levels(const float* x, std::int64_t n, int levels, std::uint64_t key, std::uint64_t step,
                              std::uint8_t* codes, float* units, Outcome* outcome) {
  const std::int64_t block = thread_number() / 32;
  const std::int64_t first = block * Levels::kBlock + kFour * (threadIdx.x % 32);
  Float4 values[kRounds];
  double squares = 0;  // so that nothing that is finite overflows
  for (unsigned round = 0; round < kRounds; ++round) {
    values[round] = load_four(x, first + 32 * kFour * round, n);
    for (unsigned j = 0; j < kFour; ++j) {
      const auto value = static_cast<double>(values[round].at[j]);
      squares += value * value;
    }
  }
  const auto norm = static_cast<float>(sqrt(warp_sum(squares)));
  const bool finite = (bits_of(norm) & kMagnitude) < kInfinity;
  const float unit = finite ? norm / static_cast<float>(levels) : float_of(kNan);
  // Below the smallest normal number nothing is worth a level: 0 / 0 and overflow of the inverse are avoided.
  const float inverse = unit >= 0x1p-126F ? 1 / unit : 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    const std::int64_t at = first + 32 * kFour * round;
    const PhiloxWords words = philox(key, static_cast<std::uint64_t>(at) / 4, step);
    Bytes4 out;
    for (unsigned j = 0; j < kFour; ++j) {
      const std::uint32_t bits = bits_of(values[round].at[j]);
      // Not negative, so cutting off is rounding down.
      const float level = finite ? float_of(bits & kMagnitude) * inverse + uniform(words[j]) : 0;
      const int code = least(static_cast<int>(level), levels);
      out.at[j] = finite ? static_cast<std::uint8_t>(static_cast<std::uint32_t>(code) | bits >> 31 << 7) : 0;
    }
    store_four(out, at, n, codes);
  }
  if (threadIdx.x % 32 != 0 || first >= n) return;
  units[block] = unit;
  if (!finite) atomicOr(&outcome->not_finite, 1U);
}

class Qsgd final : public BlockLoad<Levels> {
 public:
  using BlockLoad::BlockLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::stochastic, .block = Levels::kBlock}; }

 private:
  void encode(const float* x) override {
    launch("encode levels", encode_levels, grid(), kBlockThreads, x, n_, options_.levels, seed_, step_,
           own_.codes.data(), own_.values.data(), outcome_.data());
  }
};

}  // namespace

std::unique_ptr<Load> make_qsgd(const LoadOptions& options) {
  LoadOptions within = options;
  within.levels = std::clamp(options.levels, 1, 127);
  return std::make_unique<Qsgd>(within);
}

}  // namespace gradsync::cuda
