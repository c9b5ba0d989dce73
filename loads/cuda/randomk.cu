// randomk: K elements at places that every rank draws alike from the shared seed and the step; the places are those of
// the CPU's load (loads/cpu/randomk.cpp). R 4K floats, each from a sector of its own (32 bytes)  W 4K.
#include "loads/cuda/cuda_load.h"
#include "loads/cuda/device_code.h"
#include "loads/philox.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256;

struct Stretches {
  std::uint64_t n, wanted, seed, step;
};
struct Place {
  std::uint64_t at, length;
};

GSD_DEVICE Place place_of(const Stretches& all, std::uint64_t j) {
  const std::uint64_t begin = j * all.n / all.wanted, length = (j + 1) * all.n / all.wanted - begin;
  const std::uint64_t word = philox(all.seed, j / 4, all.step)[j % 4];
  return {begin + (word * length >> 32), length};
}

__global__ void take_places(const float* x, Stretches all, float* values, Outcome* outcome) {
  const auto j = static_cast<std::uint64_t>(thread_number());
  if (j >= all.wanted) return;
  values[j] = x[place_of(all, j).at];
  if ((bits_of(values[j]) & kMagnitude) >= kInfinity) atomicOr(&outcome->not_finite, 1U);
}

__global__ void add_places(const float* values, Stretches all, float* sum) {
  const auto j = static_cast<std::uint64_t>(thread_number());
  if (j >= all.wanted) return;
  const Place place = place_of(all, j);
  sum[place.at] += values[j] * static_cast<float>(place.length);
}

class Randomk final : public CudaLoad {
 public:
  using CudaLoad::CudaLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::random_selection}; }
  Traffic decompress_traffic(std::span<const Payload* const> payloads) const override {
    const double ranks = static_cast<double>(payloads.size()), wanted = static_cast<double>(wanted_);
    return {4 * ranks * wanted, 4 * static_cast<double>(n_), 0};
  }

 private:
  void allocate() override { wanted_ = selected_count(options_.ratio, n_); }
  Rooms rooms() const override { return {0, wanted_, 0}; }
  Stretches stretches(std::uint64_t step) const {
    return {static_cast<std::uint64_t>(n_), static_cast<std::uint64_t>(wanted_), seed_, step};
  }

  void encode(const float* x) override {
    launch("take places", take_places, blocks_for(wanted_, kThreads), kThreads, x, stretches(step_), own_.values.data(),
           outcome_.data());
  }
  // One rank after the other: no two places of a rank meet.
  void decode(std::span<const PayloadView> views, const PayloadView*, float* sum) override {
    fill_zeros(sum, static_cast<std::size_t>(n_) * sizeof(float));
    for (const PayloadView& view : views)
      launch("add places", add_places, blocks_for(wanted_, kThreads), kThreads, view.values, stretches(view.step), sum);
  }
  Traffic encode_traffic() const override {
    return {32 * static_cast<double>(wanted_), 4 * static_cast<double>(wanted_), 0};
  }

  std::int64_t wanted_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_randomk(const LoadOptions& options) { return std::make_unique<Randomk>(options); }

}  // namespace gradsync::cuda
