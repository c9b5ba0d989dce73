// qsgd: stochastic rounding to levels of the block's length (Alistarh, Grubic, Li, Tomioka, Vojnović, NIPS'17), in
// blocks of 512. Unbiased: the mean of many draws is the gradient.
//
//   l = |x| × levels / ‖block‖      q = ⌊l + u⌋, u uniform      decodes to ± q ‖block‖ / levels
//
// 127 levels and the sign fill a byte: R 4n  W n(1 + 4/512). Random numbers are a function of seed, step and index.
#include "loads/cpu/block_load.h"

namespace gradsync {
namespace {

class Qsgd final : public BlockLoad {
 public:
  using BlockLoad::BlockLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::stochastic, .block = kBlock}; }

 private:
  static constexpr std::int64_t kBlock = 512;
  std::int64_t block() const override { return kBlock; }
  float code(const float* x, std::int64_t n, std::int64_t first, std::uint64_t step, std::uint8_t* codes) override {
    return kernels::to_qsgd_block(x, n, options_.levels, seed_, static_cast<std::uint64_t>(first), step, codes);
  }
  void add(const std::uint8_t* codes, std::int64_t n, float unit, float* sum) override {
    kernels::add_qsgd_block(codes, n, unit, sum);
  }
};

}  // namespace

std::unique_ptr<Load> make_qsgd(const LoadOptions& options) {
  LoadOptions within = options;
  within.levels = std::clamp(options.levels, 1, 127);
  return std::make_unique<Qsgd>(within);
}

}  // namespace gradsync
