// cast16: rounding to 16 bits, fp16 or bf16, to the nearest and ties to even. R 4n  W 2n; on the wire 2n.
// Too large for fp16 (above 65504) becomes infinity, which counts as not finite; below 2^-24 it becomes zero.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/kernels.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

constexpr std::int64_t kBlock = 1 << 14;

class Cast16 final : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;
  LoadTraits traits() const override {
    const bool fp16 = options_.half == HalfFormat::fp16;
    return {.kind = LoadKind::cast, .relative_error = fp16 ? 0x1p-11 : 0x1p-8, .absolute_error = fp16 ? 0x1p-25 : 0};
  }
  void reserve(Payload& payload) const override { payload.reserve(0, 0, 2 * n_); }

  void compress(std::span<const float> gradient, Payload& payload) override {
    payload.elements = n_;
    payload.step = step_++;
    payload.indices.resize(0);
    payload.values.resize(0);
    payload.codes.resize(2 * n_);
    std::atomic<bool> finite = true;
    const auto cast = options_.half == HalfFormat::fp16 ? kernels::to_fp16 : kernels::to_bf16;
    for_parts(n_, options_.threads, kBlock, [&](const Part& part) {
      if (!cast(gradient.data() + part.begin, part.end - part.begin, halves(payload) + part.begin)) finite = false;
    });
    payload.not_finite = !finite;
  }

  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    const auto add = options_.half == HalfFormat::fp16 ? kernels::add_fp16 : kernels::add_bf16;
    for_parts(n_, options_.threads, kBlock, [&](const Part& part) {
      for (std::int64_t begin = part.begin; begin < part.end; begin += kBlock) {
        const std::int64_t count = std::min(kBlock, part.end - begin);
        std::memset(sum.data() + begin, 0, static_cast<std::size_t>(count) * sizeof(float));
        for (const Payload* payload : payloads) add(halves(*payload) + begin, count, sum.data() + begin);
      }
    });
  }

  Traffic compress_traffic() const override { return {4 * static_cast<double>(n_), 2 * static_cast<double>(n_)}; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {2 * static_cast<double>(n_) * static_cast<double>(payloads.size()), 4 * static_cast<double>(n_)};
  }

 private:
  void allocate() override {}
  static std::uint16_t* halves(Payload& payload) { return reinterpret_cast<std::uint16_t*>(payload.codes.data()); }
  static const std::uint16_t* halves(const Payload& payload) {
    return reinterpret_cast<const std::uint16_t*>(payload.codes.data());
  }
};

}  // namespace

std::unique_ptr<Load> make_cast16(const LoadOptions& options) { return std::make_unique<Cast16>(options); }

}  // namespace gradsync
