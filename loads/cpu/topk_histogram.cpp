// topk_histogram: at least K and at most 1.25 K of the largest magnitudes, in little more than one read of the vector.
//
//   1. sample   some lines of the vector → histogram of exponent and 8 bits of mantissa → a magnitude that a
//               little more than K elements reach (3.8 σ of the sample more)
//   2. gather   all elements of at least that magnitude                                      R 4n  W 8 candidates
//   3. check    K ≤ candidates ≤ 1.25 K: done. More (up to 2 K): a histogram of the candidates cuts them.
//               Fewer, or more than 2 K: the sample misled. The histogram of the whole vector decides, and one more
//               read gathers:                                                                R 8n
//
// The sample only says where to begin, so the result does not depend on luck: whatever is chosen is the whole of a bin
// and everything above it, or, where equal magnitudes leave no choice, cut by index to exactly K.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "loads/cpu/sparse_load.h"
#include "loads/philox.h"

namespace gradsync {
namespace {

constexpr int kShift = 15;                      // of 31 bits: 8 of exponent and 8 of mantissa are left
constexpr std::int64_t kLine = 16;              // floats of a cache line
constexpr std::int64_t kSampleOfWanted = 1000;  // so many of the K are to be in the sample: σ is 3 %
constexpr std::int64_t kWorthSampling = 1 << 16;

class TopkHistogram final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::threshold_selection, .least_count = 1, .most_count = kMost};
  }
  void reserve(Payload& payload) const override {
    payload.reserve(2 * wanted_ + kSelectSlack, 2 * wanted_ + kSelectSlack, 0);
  }
  std::optional<HistogramCount> histogram() const override {
    return HistogramCount{counted_, std::accumulate(bins_.begin(), bins_.end(), std::int64_t{0})};
  }

 private:
  static constexpr double kMost = 1.25;

  std::int64_t most_selected(std::int64_t wanted) const override {
    return std::max(wanted, static_cast<std::int64_t>(kMost * static_cast<double>(wanted)));
  }
  void allocate_selection() override {
    bins_.assign(std::size_t{1} << (31 - kShift), 0);
    // One line of every `stride_` of them; with fewer than 16 a sample costs as much as the whole.
    stride_ = std::max<std::int64_t>(16, wanted_ / kSampleOfWanted);
    const std::int64_t lines = n_ / kLine / stride_;
    sampling_ = n_ >= kWorthSampling && lines * kLine * wanted_ / std::max<std::int64_t>(n_, 1) >= kSampleOfWanted / 8;
    sample_.reserve(sampling_ ? lines * kLine : 0);
    sample_.resize(sampling_ ? lines * kLine : 0);
  }

  void select(std::span<const float> x, Payload& payload) override {
    const auto n = static_cast<double>(n_);
    traffic_ = {};
    if (!(sampling_ && select_by_sample(x, payload))) {
      const Cut cut = cut_of(x);
      gather_cut(x, cut, scratch_, payload, options_.threads);
      traffic_.read += 4 * n * (cut.passes + 1);
      traffic_.written += 8.0 * static_cast<double>(payload.indices.size());
    }
    payload.not_finite = !all_finite(payload.values.span());  // nothing is larger than what is not finite
  }

  // Lines at random places, one in each stretch of `stride_`, so that no period of the data is hit twice alike.
  std::uint32_t sampled_magnitude(std::span<const float> x) {
    const std::int64_t lines = sample_.size() / kLine;
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::uint64_t mixed = (static_cast<std::uint64_t>(line) + seed_ + 1) * 0x9E3779B97F4A7C15U;
      const std::int64_t from =
          line * stride_ + static_cast<std::int64_t>((mixed >> 40) % static_cast<std::uint64_t>(stride_));
      std::copy_n(x.data() + from * kLine, kLine, sample_.data() + line * kLine);
    }
    count_bins(sample_.span(), kShift, bins_, 1);
    const double share = static_cast<double>(wanted_) / static_cast<double>(n_);
    const double expected = share * static_cast<double>(sample_.size());
    return find_bin(bins_, std::llround(expected + 3.8 * std::sqrt(expected) + 1)).number << kShift;
  }

  bool select_by_sample(std::span<const float> x, Payload& payload) {
    const std::uint32_t magnitude = sampled_magnitude(x);
    counted_ = sample_.size();
    traffic_.read += 4.0 * static_cast<double>(sample_.size() + n_);
    if (!gather(x, magnitude, 2 * wanted_, scratch_, payload, options_.threads)) return false;
    const std::int64_t candidates = payload.indices.size();
    traffic_.written += 8.0 * static_cast<double>(candidates);
    if (candidates < wanted_) return false;
    if (candidates > most_) keep_cut(cut_of(payload.values.span()), payload);
    return true;
  }

  Cut cut_of(std::span<const float> x) {
    count_bins(x, kShift, bins_, options_.threads);
    counted_ = static_cast<std::int64_t>(x.size());
    const Bin bin = find_bin(bins_, wanted_);
    Cut cut{.above = bin.number << kShift, .count = bin.above + bin.inside, .passes = 1};
    if (cut.count <= most_) return cut;
    cut = find_cut(x, wanted_, most_, options_.threads);
    ++cut.passes;
    return cut;
  }

  std::vector<std::uint32_t> bins_;
  std::vector<Entries> scratch_;
  Buffer<float> sample_;
  std::int64_t stride_ = 16, counted_ = 0;
  bool sampling_ = false;
};

}  // namespace

std::unique_ptr<Load> make_topk_histogram(const LoadOptions& options) {
  return std::make_unique<TopkHistogram>(options);
}

}  // namespace gradsync
