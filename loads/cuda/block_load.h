// Loads that code blocks of elements one by one, each with a scale of its own: a byte an element, a float a block. A
// warp takes a block; each lane has four neighbours at a time.
//
//   element  0 1 2 3 | 4 5 6 7 | … | 124 … 127 | 128 …        lane 0 | lane 1 | … | lane 31 | lane 0 again
#pragma once

#include "loads/cuda/cuda_load.h"
#include "loads/cuda/device_code.h"

namespace gradsync::cuda {

inline constexpr unsigned kBlockThreads = 256, kFour = 4;

struct alignas(4) Bytes4 {
  std::uint8_t at[kFour];
};

// Four elements from `first` on; zeros behind the end.
GSD_DEVICE Float4 load_four(const float* x, std::int64_t first, std::int64_t n) {
  Float4 four{};
  if (first + kFour <= n) return *reinterpret_cast<const Float4*>(x + first);
  for (unsigned j = 0; first + j < n; ++j) four.at[j] = x[first + j];
  return four;
}
GSD_DEVICE void store_four(const Bytes4& four, std::int64_t first, std::int64_t n, std::uint8_t* out) {
  if (first + kFour <= n) {
    *reinterpret_cast<Bytes4*>(out + first) = four;
    return;
  }
  for (unsigned j = 0; first + j < n; ++j) out[first + j] = four.at[j];
}

// Code: kBlock, and `static float value(std::uint8_t code, float scale)`.
template <class Code>
__global__ void decode_blocks(const PayloadView* views, int ranks, std::int64_t n, float* sum) {
  const std::int64_t first = thread_number() * kFour;
  if (first >= n) return;
  Float4 total{};
  for (int rank = 0; rank < ranks; ++rank) {
    const float scale = views[rank].values[first / Code::kBlock];
    const std::uint8_t* codes = views[rank].codes;
    Bytes4 in{};
    if (first + kFour <= n) in = *reinterpret_cast<const Bytes4*>(codes + first);
    for (unsigned j = 0; first + kFour > n && first + j < n; ++j) in.at[j] = codes[first + j];
    for (unsigned j = 0; j < kFour; ++j) total.at[j] += Code::value(in.at[j], scale);
  }
  if (first + kFour <= n) *reinterpret_cast<Float4*>(sum + first) = total;
  for (unsigned j = 0; first + kFour > n && first + j < n; ++j) sum[first + j] = total.at[j];
}

template <class Code>
class BlockLoad : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    return {static_cast<double>(n_ + 4 * blocks()) * static_cast<double>(payloads.size()), 4 * static_cast<double>(n_),
            0};
  }

 protected:
  std::int64_t blocks() const { return blocks_for(n_, Code::kBlock); }
  std::int64_t grid() const { return blocks_for(blocks(), kBlockThreads / 32); }
  void allocate() override {}
  Rooms rooms() const override { return {0, blocks(), n_}; }
  void decode(std::span<const PayloadView> views, const PayloadView* device_views, float* sum) override {
    launch("decode blocks", decode_blocks<Code>, blocks_for(n_, kBlockThreads * kFour), kBlockThreads, device_views,
           static_cast<int>(views.size()), n_, sum);
  }
  Traffic encode_traffic() const override {
    return {4 * static_cast<double>(n_), static_cast<double>(n_ + 4 * blocks()), 0};
  }
};

}  // namespace gradsync::cuda
