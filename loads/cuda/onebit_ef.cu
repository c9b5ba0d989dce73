// onebit_ef: one bit an element with error feedback, and one scale for each chunk (loads/cpu/onebit_ef.cpp says why the
// mean is the scale). A block keeps its chunk in registers, so memory is read and written once: R 8n  W 4n + n/8.
//
//   thread t of 512 holds elements t, t + 512, …: 32 neighbours of a warp make one word of bits, by a ballot
#include <cmath>

#include "loads/cuda/cuda_load.h"
#include "loads/cuda/device_code.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 512, kEach = 32;
constexpr std::int64_t kChunk = std::int64_t{kThreads} * kEach;

__global__ void __launch_bounds__(kThreads, 2) encode_chunk(const float* gradient, float* residual, std::int64_t n,
                                                            float* scales, std::uint32_t* words, Outcome* outcome) {
  __shared__ double sums[32];
  const std::int64_t begin = std::int64_t{blockIdx.x} * kChunk;
  const std::int64_t count = least(kChunk, n - begin);
  float p[kEach];
  float partial[4] = {0, 0, 0, 0};  // sums of few floats lose no digits
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) {
    const std::int64_t i = k * kThreads + threadIdx.x;
    p[k] = i < count ? gradient[begin + i] + residual[begin + i] : 0;
    partial[k % 4] += float_of(bits_of(p[k]) & kMagnitude);
  }
  const double mine = (static_cast<double>(partial[0]) + static_cast<double>(partial[1])) +
                      (static_cast<double>(partial[2]) + static_cast<double>(partial[3]));
  const auto scale = static_cast<float>(block_sum(mine, sums) / static_cast<double>(count));
  // A chunk that is not finite decodes to NaN, and its residual stays as it was.
  const bool finite = (bits_of(scale) & kMagnitude) < kInfinity;
  if (threadIdx.x == 0) {
    scales[blockIdx.x] = finite ? scale : float_of(kNan);
    if (!finite) atomicOr(&outcome->not_finite, 1U);
  }
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) {
    const std::int64_t i = k * kThreads + threadIdx.x;
    const bool negative = p[k] < 0 && finite;
    const std::uint32_t word = __ballot_sync(kAllLanes, negative);
    if (i < count && finite) residual[begin + i] = p[k] - (negative ? -scale : scale);
    if (i < count && threadIdx.x % 32 == 0) words[(begin + i) / 32] = word;
  }
}

__global__ void decode_signs(const PayloadView* views, int ranks, std::int64_t n, float* sum) {
  const std::int64_t i = thread_number();
  if (i >= n) return;
  float total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const float scale = views[rank].values[i / kChunk];
    const auto* words = reinterpret_cast<const std::uint32_t*>(views[rank].codes);
    total += (words[i / 32] >> (i % 32) & 1) != 0 ? -scale : scale;
  }
  sum[i] = total;
}

class OnebitEf final : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::sign, .keeps_residual = true, .block = kChunk}; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {static_cast<double>(bytes()) * static_cast<double>(payloads.size()), 4 * static_cast<double>(n_), 0};
  }

 private:
  std::int64_t chunks() const { return blocks_for(n_, kChunk); }
  std::int64_t bytes() const { return blocks_for(n_, 32) * 4; }
  void allocate() override { residual_.assign_zeros(n_); }
  Rooms rooms() const override { return {0, chunks(), bytes()}; }
  const float* own_residual() const override { return residual_.data(); }

  void encode(const float* x) override {
    launch("encode signs", encode_chunk, chunks(), kThreads, x, residual_.data(), n_, own_.values.data(),
           reinterpret_cast<std::uint32_t*>(own_.codes.data()), outcome_.data());
  }
  void decode(std::span<const PayloadView> views, const PayloadView* device_views, float* sum) override {
    launch("decode signs", decode_signs, blocks_for(n_, kThreads), kThreads, device_views,
           static_cast<int>(views.size()), n_, sum);
  }
  Traffic encode_traffic() const override {
    return {4 * static_cast<double>(n_), static_cast<double>(bytes()), 4 * static_cast<double>(n_)};
  }

  DeviceBuffer<float> residual_;
};

}  // namespace

std::unique_ptr<Load> make_onebit_ef(const LoadOptions& options) { return std::make_unique<OnebitEf>(options); }

}  // namespace gradsync::cuda
