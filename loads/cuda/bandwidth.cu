// Rooflines of the device: its memory's bandwidth, by kernels that do nothing else.
#include "loads/cuda/cuda_library.h"
#include "loads/cuda/device_code.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256, kFour = 4;

__global__ void read(const Float4* from, std::int64_t fours, std::uint32_t* sum) {
  __shared__ std::uint32_t shared[32];
  std::uint32_t mine = 0;
  for (std::int64_t i = thread_number(), step = thread_count(); i < fours; i += step) {
    const Float4 four = from[i];
    for (unsigned j = 0; j < kFour; ++j) mine += bits_of(four.at[j]);
  }
  const std::uint32_t all = block_sum(mine, shared);
  if (threadIdx.x == 0) atomicAdd(sum, all);
}

__global__ void copy(const Float4* from, Float4* to, std::int64_t fours) {
  const std::int64_t i = thread_number();
  if (i < fours) to[i] = from[i];
}

__global__ void update(Float4* x, std::int64_t fours) {
  const std::int64_t i = thread_number();
  if (i >= fours) return;
  Float4 four = x[i];
  for (unsigned j = 0; j < kFour; ++j) four.at[j] += four.at[j];
  x[i] = four;
}

class CudaBandwidth final : public BandwidthProbe {
 public:
  explicit CudaBandwidth(std::int64_t elements) : fours_(blocks_for(elements, kFour)) {
    from_.assign_zeros(kFour * fours_);
    to_.assign_zeros(kFour * fours_);
    sum_.assign_zeros(1);
  }
  Bandwidth measure() override {
    auto* from = reinterpret_cast<Float4*>(from_.data());
    auto* to = reinterpret_cast<Float4*>(to_.data());
    const double reading = seconds_of(
        [&] { launch("read", read, some_blocks(fours_, 8 * kThreads), kThreads, from, fours_, sum_.data()); });
    const std::int64_t blocks = blocks_for(fours_, kThreads);
    const double copying = seconds_of([&] { launch("copy", copy, blocks, kThreads, from, to, fours_); });
    const double updating = seconds_of([&] { launch("update", update, blocks, kThreads, to, fours_); });
    return bandwidth_of(kFour * fours_, reading, copying, updating);
  }

 private:
  template <class Function>
  double seconds_of(const Function& function) {
    stopwatch_.start();
    function();
    stopwatch_.stop();
    return stopwatch_.seconds();
  }

  std::int64_t fours_;
  DeviceBuffer<float> from_, to_;
  DeviceBuffer<std::uint32_t> sum_;
  Stopwatch stopwatch_;
};

}  // namespace

std::unique_ptr<BandwidthProbe> cuda_bandwidth(std::int64_t elements) {
  return std::make_unique<CudaBandwidth>(elements);
}

}  // namespace gradsync::cuda
