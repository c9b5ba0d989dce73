// topk_sort: sorts all magnitudes with their indices and takes the K largest, as a compressor does that calls a sort
// (CUB's radix sort, 8 bits a pass):
//   keys and indices R 4n W 8n, a histogram of all digits R 4n, then 4 × (R 8n  W 8n)
#include <cmath>

#include "loads/cuda/device_code.h"
#include "loads/cuda/selection.h"
#include "loads/cuda/sort.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256;

// Ascending keys: the largest magnitude first. Stable, so equal ones stay in the order of their indices.
__global__ void make_keys(const float* x, std::int64_t n, std::uint32_t* keys, std::uint32_t* indices) {
  const std::int64_t i = thread_number();
  if (i >= n) return;
  keys[i] = ~bits_of(x[i]) & kMagnitude;
  indices[i] = static_cast<std::uint32_t>(i);
}

__global__ void fetch(const float* x, const std::uint32_t* indices, std::int64_t count, float* values,
                      Outcome* outcome) {
  const std::int64_t i = thread_number();
  if (i >= count) return;
  values[i] = x[indices[i]];
  if ((bits_of(values[i]) & kMagnitude) >= kInfinity) atomicOr(&outcome->not_finite, 1U);
  if (i == 0) outcome->count = static_cast<std::uint32_t>(count);
}

class TopkSort final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::exact_selection, .keeps_residual = asked_for_residual()};
  }
  std::optional<HistogramCount> histogram() const override { return std::nullopt; }

 private:
  void allocate_selection() override {
    for (DeviceBuffer<std::uint32_t>* buffer : {&keys_, &sorted_keys_, &indices_, &sorted_indices_})
      buffer->reserve(n_);
    sorter_.prepare(n_);
  }

  void encode(const float* x) override {
    launch("make keys", make_keys, blocks_for(n_, kThreads), kThreads, x, n_, keys_.data(), indices_.data());
    sorter_.sort_pairs(keys_.data(), sorted_keys_.data(), indices_.data(), sorted_indices_.data(), n_);
    sorter_.sort_keys(sorted_indices_.data(), own_.indices.data(), wanted_);
    launch("fetch values", fetch, blocks_for(wanted_, kThreads), kThreads, x, own_.indices.data(), wanted_,
           own_.values.data(), outcome_.data());
    const auto n = static_cast<double>(n_);
    traffic_ = {(4 + 4 + 4 * 8) * n, (8 + 4 * 8) * n, 0};
  }

  DeviceBuffer<std::uint32_t> keys_, sorted_keys_, indices_, sorted_indices_;
  Sorter sorter_;
};

}  // namespace

std::unique_ptr<Load> make_topk_sort(const LoadOptions& options) { return std::make_unique<TopkSort>(options); }

}  // namespace gradsync::cuda
