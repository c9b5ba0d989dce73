// cast8: fp8 (e4m3) with a scale for each block of 128, which makes the block's largest magnitude 448.
// R 4n  W n(1 + 4/128); the wire carries what is written. A block that holds NaN or infinity becomes NaN.
#include "loads/cpu/block_load.h"

namespace gradsync {
namespace {

class Cast8 final : public BlockLoad {
 public:
  using BlockLoad::BlockLoad;
  // Half a step of 3 bits of mantissa; near zero half of 2^-9 of a scale where 448 is the largest. Together with the
  // scale's own rounding, hence a little more than 2^-4.
  LoadTraits traits() const override {
    return {.kind = LoadKind::cast, .relative_error = 0x1.001p-4, .block_error = 0x1.001p-10 / 448, .block = kBlock};
  }

 private:
  static constexpr std::int64_t kBlock = 128;
  std::int64_t block() const override { return kBlock; }
  float code(const float* x, std::int64_t n, std::int64_t, std::uint64_t, std::uint8_t* codes) override {
    return kernels::to_fp8_block(x, n, codes);
  }
  void add(const std::uint8_t* codes, std::int64_t n, float scale, float* sum) override {
    kernels::add_fp8_block(codes, n, scale, sum);
  }
};

}  // namespace

std::unique_ptr<Load> make_cast8(const LoadOptions& options) { return std::make_unique<Cast8>(options); }

}  // namespace gradsync
