// topk_histogram: at least K and at most 1.25 K of the largest magnitudes, in little more than one read of the vector.
// The choice is that of the CPU's load, number for number:
//
//   1. sample   some lines of the vector → histogram of exponent and 8 bits of mantissa → a magnitude that a
//               little more than K elements reach (3.8 σ of the sample more)
//   2. take     all elements of at least that magnitude                                      R 4n  W 8 candidates
//   3. check    K ≤ candidates ≤ 1.25 K: done. More (up to 2 K): two levels of bins of the candidates cut them.
//               Fewer, or more than 2 K: the sample misled. Two levels of bins of the whole vector decide: exponent and
//               4 bits of mantissa, then 4 bits inside the bin of the K-th; one more read takes:  R 12n
//
// Where equal magnitudes leave no choice, later digits cut to exactly K, by index. The host looks at the number of
// candidates only when the clock has stopped.
#include <cmath>

#include "loads/cuda/device_code.h"
#include "loads/cuda/selection.h"

namespace gradsync::cuda {
namespace {

constexpr std::int64_t kLine = 16;              // floats that are sampled together
constexpr std::int64_t kSampleOfWanted = 1000;  // so many of the K are to be in the sample: σ is 3 %
constexpr std::int64_t kWorthSampling = 1 << 16;
constexpr double kMost = 1.25;

class TopkHistogram final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::threshold_selection,
            .keeps_residual = asked_for_residual(),
            .least_count = 1,
            .most_count = kMost};
  }

 private:
  std::int64_t most_selected(std::int64_t wanted) const override {
    return std::max(wanted, static_cast<std::int64_t>(kMost * static_cast<double>(wanted)));
  }
  std::int64_t room_for(std::int64_t wanted) const override { return 2 * wanted; }

  void allocate_selection() override {
    stride_ = std::max<std::int64_t>(16, wanted_ / kSampleOfWanted);
    lines_ = n_ / kLine / stride_;
    sampling_ = n_ >= kWorthSampling && lines_ * kLine * wanted_ / std::max<std::int64_t>(n_, 1) >= kSampleOfWanted / 8;
    const double share = static_cast<double>(wanted_) / static_cast<double>(std::max<std::int64_t>(n_, 1));
    const double expected = share * static_cast<double>(lines_ * kLine);
    sample_wanted_ = std::llround(expected + 3.8 * std::sqrt(expected) + 1);
    indices_.reserve(sampling_ ? room_ : 0);
    values_.reserve(sampling_ ? room_ : 0);
  }

  void encode(const float* x) override {
    traffic_ = {};
    if (!sampling_) return by_bins(x);
    selector_.cut_of_sample(x, lines_, stride_, seed_, sample_wanted_);
    selector_.take(all(x), into_own());
    traffic_.read = 4.0 * static_cast<double>(lines_ * kLine) + pass();
  }

  bool accepts(const Outcome& outcome) override {
    found_ = outcome.count;
    if (!sampling_) {
      read_bins();
      return true;
    }
    traffic_.written += 8.0 * static_cast<double>(std::min(found_, room_));
    return found_ >= wanted_ && found_ <= most_;
  }

  void encode_again(const float* x) override {
    if (found_ < wanted_ || found_ > room_) {
      by_bins(x);
      read_bins();
      return;
    }
    // The candidates are more than may be sent: what is left of them goes to where they were.
    copy_within(indices_.data(), own_.indices.data(), static_cast<std::size_t>(found_) * sizeof(std::uint32_t));
    copy_within(values_.data(), own_.values.data(), static_cast<std::size_t>(found_) * sizeof(float));
    const Entries candidates{values_.data(), indices_.data(), nullptr, found_};
    cut(candidates);
    selector_.take(candidates, into_own());
  }

  void by_bins(const float* x) {
    cut(all(x));
    selector_.take(all(x), into_own());
  }

  // Two levels, and more only where a bin holds too many.
  void cut(const Entries& x) {
    selector_.begin();
    selector_.digit(x, wanted_, -1, 19);
    for (const int shift : {15, 9, 0}) selector_.digit(x, wanted_, most_, shift);
  }

  void read_bins() {
    const Cut cut = selector_.cut();
    traffic_.read += pass() * (cut.passes + 1.0);
    traffic_.written += 8.0 * static_cast<double>(cut.count);
  }

  std::int64_t stride_ = 16, lines_ = 0, sample_wanted_ = 0, found_ = 0;
  bool sampling_ = false;
  DeviceBuffer<std::uint32_t> indices_;
  DeviceBuffer<float> values_;
};

}  // namespace

std::unique_ptr<Load> make_topk_histogram(const LoadOptions& options) {
  return std::make_unique<TopkHistogram>(options);
}

}  // namespace gradsync::cuda
