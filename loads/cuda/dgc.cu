// dgc: a threshold from a sample, then everything above it (loads/dgc_search.h says how it is searched). The host waits
// for every count, as this compressor does in jobs; that is in the time.
#include <bit>
#include <cmath>

#include "loads/cuda/device_code.h"
#include "loads/cuda/selection.h"
#include "loads/dgc_search.h"

namespace gradsync::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void take_sample(const float* x, double stride, std::int64_t size, float* sample) {
  const std::int64_t i = thread_number();
  if (i < size) sample[i] = x[static_cast<std::int64_t>(stride * static_cast<double>(i))];
}

__global__ void count_at_least(const float* x, std::int64_t n, std::uint32_t magnitude, std::uint32_t* count) {
  __shared__ std::uint32_t shared[32];
  std::uint32_t mine = 0;
  for (std::int64_t i = thread_number(), step = thread_count(); i < n; i += step)
    mine += (bits_of(x[i]) & kMagnitude) >= magnitude ? 1 : 0;
  const std::uint32_t all = block_sum(mine, shared);
  if (threadIdx.x == 0) atomicAdd(count, all);
}

class Dgc final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::threshold_selection,
            .keeps_residual = asked_for_residual(),
            .least_count = dgc::kLeast,
            .most_count = dgc::kMost};
  }
  std::optional<HistogramCount> histogram() const override { return std::nullopt; }

 private:
  std::int64_t most_selected(std::int64_t wanted) const override { return dgc::most_of(wanted); }
  void allocate_selection() override {
    least_ = dgc::least_of(wanted_);
    sample_size_ = dgc::sample_size(n_, options_.ratio);
    sample_.reserve(sample_size_);
    count_.reserve(1);
  }

  void encode(const float* x) override {
    traffic_ = {};
    if (n_ == 0) return;
    magnitude_ = searched_threshold(x);
    if (magnitude_ == 0) return;
    selector_.cut_at(magnitude_);
    selector_.take(all(x), into_own());
    traffic_.read += pass();
  }

  bool accepts(const Outcome& outcome) override {
    traffic_.written += 8.0 * static_cast<double>(std::min<std::int64_t>(outcome.count, room_));
    return n_ == 0 || (magnitude_ != 0 && outcome.count >= least_ && outcome.count <= most_);
  }

  // Where nothing in between exists: the exact selection.
  void encode_again(const float* x) override {
    selector_.begin();
    selector_.digits(all(x), wanted_, most_);
    selector_.take(all(x), into_own());
    const Cut cut = selector_.cut();
    traffic_.read += pass() * (cut.passes + 1.0);
    traffic_.written += 8.0 * static_cast<double>(cut.count);
  }

  std::uint32_t sampled_threshold(const float* x) {
    const double stride = static_cast<double>(n_) / static_cast<double>(sample_size_);
    launch("take a sample", take_sample, blocks_for(sample_size_, kThreads), kThreads, x, stride, sample_size_,
           sample_.data());
    const std::int64_t rank = dgc::rank_in_sample(sample_size_, options_.ratio);
    selector_.begin();
    selector_.digits({sample_.data(), nullptr, nullptr, sample_size_}, rank + 1, -1);
    traffic_.read += 4.0 * static_cast<double>(sample_size_);
    return selector_.cut().prefix;
  }

  std::uint32_t searched_threshold(const float* x) {
    return dgc::search(sampled_threshold(x), least_, most_,
                       [&](std::uint32_t magnitude) { return count_above(x, magnitude); });
  }

  std::int64_t count_above(const float* x, std::uint32_t magnitude) {
    traffic_.read += pass();
    fill_zeros(count_.data(), sizeof(std::uint32_t));
    launch("count what is above", count_at_least, some_blocks(n_, 16 * kThreads), kThreads, x, n_, magnitude,
           count_.data());
    return copy_out(count_);
  }

  std::int64_t least_ = 0, sample_size_ = 0;
  std::uint32_t magnitude_ = 0;
  DeviceBuffer<float> sample_;
  DeviceBuffer<std::uint32_t> count_;
};

}  // namespace

std::unique_ptr<Load> make_dgc(const LoadOptions& options) { return std::make_unique<Dgc>(options); }

}  // namespace gradsync::cuda
