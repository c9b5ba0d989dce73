// dgc: a threshold from a sample, then everything above it, as Deep Gradient Compression does (Lin, Han, Mao, Wang,
// Dally, ICLR'18). Counting is repeated until between 0.7 K and 1.3 K are above the threshold:
//
//   sample 1 % (at least 2 / ratio) → its (share × size)-th largest magnitude
//   count; too many: 1.3 × the threshold, too few: 0.7 ×; once both sides are known, halfway between; at most 10 times
//   gather; still too many, because many magnitudes are equal: exactly K of them
//
// Where nothing in between exists the exact selection takes over, so the bounds hold for every input.
#include <algorithm>
#include <bit>
#include <cmath>

#include "loads/cpu/sparse_load.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

class Dgc final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::threshold_selection, .least_count = kLeast, .most_count = kMost};
  }

 private:
  static constexpr double kLeast = 0.7, kMost = 1.3;
  static constexpr int kTries = 10;

  std::int64_t most_selected(std::int64_t wanted) const override {
    return std::max(wanted, static_cast<std::int64_t>(kMost * static_cast<double>(wanted)));
  }
  void allocate_selection() override {
    least_ = static_cast<std::int64_t>(std::ceil(kLeast * static_cast<double>(wanted_)));
    const double size = std::max(0.01 * static_cast<double>(n_), 2 / options_.ratio);
    sample_.reserve(std::min(n_, static_cast<std::int64_t>(size)));
    sample_.resize(sample_.capacity() < n_ ? static_cast<std::int64_t>(size) : n_);
  }

  void select(std::span<const float> x, Payload& payload) override {
    traffic_ = {};
    payload.indices.resize(0);
    payload.values.resize(0);
    if (n_ == 0) return;
    const std::uint32_t magnitude = searched_threshold(x);
    traffic_.read += 4 * static_cast<double>(n_);
    if (magnitude == 0 || !gather(x, magnitude, most_, scratch_, payload, options_.threads) ||
        payload.indices.size() < least_) {
      const Cut cut = find_cut(x, wanted_, most_, options_.threads);
      gather_cut(x, cut, scratch_, payload, options_.threads);
      traffic_.read += 4 * static_cast<double>(n_) * (cut.passes + 1);
    }
    traffic_.written += 8.0 * static_cast<double>(payload.indices.size());
    payload.not_finite = !all_finite(payload.values.span());
  }

  std::uint32_t sampled_threshold(std::span<const float> x) {
    const double stride = static_cast<double>(n_) / static_cast<double>(sample_.size());
    for (std::int64_t i = 0; i < sample_.size(); ++i)
      sample_[i] = std::fabs(x[static_cast<std::size_t>(stride * static_cast<double>(i))]);
    const auto rank =
        std::min<std::int64_t>(sample_.size() - 1, std::llround(static_cast<double>(sample_.size()) * options_.ratio));
    const auto bits_larger = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) > std::bit_cast<std::uint32_t>(b);
    };
    std::nth_element(sample_.data(), sample_.data() + rank, sample_.data() + sample_.size(), bits_larger);
    traffic_.read += 4.0 * static_cast<double>(sample_.size());
    return std::bit_cast<std::uint32_t>(sample_[rank]);
  }

  // 0: none was found.
  std::uint32_t searched_threshold(std::span<const float> x) {
    float threshold = std::bit_cast<float>(sampled_threshold(x)), too_low = 0, too_high = 0;
    for (int i = 0; i < kTries && std::isnormal(threshold); ++i) {
      const std::int64_t count = count_above(x, std::bit_cast<std::uint32_t>(threshold));
      if (count >= least_ && count <= most_) return std::bit_cast<std::uint32_t>(threshold);
      (count > most_ ? too_low : too_high) = threshold;
      const bool between = too_low > 0 && too_high > 0;
      threshold = between ? std::sqrt(too_low) * std::sqrt(too_high) : threshold * (count > most_ ? 1.3F : 0.7F);
    }
    return 0;
  }

  std::int64_t count_above(std::span<const float> x, std::uint32_t magnitude) {
    traffic_.read += 4 * static_cast<double>(n_);
    const std::vector<Part> parts = parts_of(n_, options_.threads, 1024);
    std::vector<std::int64_t> counts(parts.size());
    for_parts(parts, [&](const Part& part) {
      counts[static_cast<std::size_t>(part.number)] =
          kernels::count_at_least(x.data() + part.begin, part.end - part.begin, magnitude);
    });
    std::int64_t count = 0;
    for (const std::int64_t some : counts) count += some;
    return count;
  }

  std::vector<Entries> scratch_;
  Buffer<float> sample_;
  std::int64_t least_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_dgc(const LoadOptions& options) { return std::make_unique<Dgc>(options); }

}  // namespace gradsync
