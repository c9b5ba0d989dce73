// onebit_ef: one bit an element with error feedback, and one scale for each chunk.
//
//   p = g + e      scale = mean |p|      bit = p < 0      e = p − scale × sign
//
// The mean is the scale with the least squared error, and what is left out shrinks with it; with the largest magnitude
// as scale the residual would grow from step to step. A chunk is summed and coded while it is in the second-level
// cache, so main memory is read and written once: R 8n  W 4n + n/8. A gradient of zeros cannot be said in one bit: its
// scale is 0.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "loads/cpu/cpu_load.h"
#include "loads/cpu/kernels.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

constexpr std::int64_t kChunk = 1 << 14;  // a multiple of 64: bytes of bits belong to one chunk

class OnebitEf final : public CpuLoad {
 public:
  using CpuLoad::CpuLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::sign, .keeps_residual = true, .block = kChunk}; }
  void reserve(Payload& payload) const override { payload.reserve(0, chunks(), bytes()); }
  std::span<const float> residual() const override { return residual_.span(); }

  void compress(std::span<const float> gradient, Payload& payload) override {
    payload.elements = n_;
    payload.step = step_++;
    payload.indices.resize(0);
    payload.values.resize(chunks());
    payload.codes.resize(bytes());
    std::atomic<bool> not_finite = false;
    for_parts(n_, options_.threads, kChunk, [&](const Part& part) {
      for (std::int64_t begin = part.begin; begin < part.end; begin += kChunk)
        if (!code_chunk(gradient.data(), begin, std::min(kChunk, part.end - begin), payload)) not_finite = true;
    });
    // Words of 32 bits: what the last one has too much is zero.
    for (std::int64_t i = (n_ + 7) / 8; i < bytes(); ++i) payload.codes[i] = 0;
    payload.not_finite = not_finite;
  }

  void decompress(std::span<const Payload* const> payloads, std::span<float> sum) override {
    for_parts(n_, options_.threads, kChunk, [&](const Part& part) {
      for (std::int64_t begin = part.begin; begin < part.end; begin += kChunk) {
        const std::int64_t count = std::min(kChunk, part.end - begin);
        std::memset(sum.data() + begin, 0, static_cast<std::size_t>(count) * sizeof(float));
        for (const Payload* payload : payloads)
          kernels::add_signs(payload->codes.data() + begin / 8, count, payload->values[begin / kChunk],
                             sum.data() + begin);
      }
    });
  }

  Traffic compress_traffic() const override {
    const auto n = static_cast<double>(n_);
    return {4 * n, static_cast<double>(bytes()), 4 * n};
  }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {static_cast<double>(bytes()) * static_cast<double>(payloads.size()), 4 * static_cast<double>(n_)};
  }

 private:
  std::int64_t chunks() const { return (n_ + kChunk - 1) / kChunk; }
  std::int64_t bytes() const { return (n_ + 31) / 32 * 4; }
  void allocate() override { residual_.assign_zeros(n_); }

  // False: a chunk that is not finite. It decodes to NaN, and its residual stays as it was.
  bool code_chunk(const float* gradient, std::int64_t begin, std::int64_t count, Payload& payload) {
    const float* g = gradient + begin;
    float* e = residual_.data() + begin;
    std::uint8_t* bits = payload.codes.data() + begin / 8;
    const auto scale = static_cast<float>(kernels::sum_of_magnitudes(g, e, count) / static_cast<double>(count));
    const bool finite = std::isfinite(scale);
    payload.values[begin / kChunk] = finite ? scale : std::numeric_limits<float>::quiet_NaN();
    if (finite)
      kernels::pack_signs(g, e, count, scale, bits);
    else
      std::memset(bits, 0, static_cast<std::size_t>((count + 7) / 8));
    return finite;
  }

  Buffer<float> residual_;
};

}  // namespace

std::unique_ptr<Load> make_onebit_ef(const LoadOptions& options) { return std::make_unique<OnebitEf>(options); }

}  // namespace gradsync
