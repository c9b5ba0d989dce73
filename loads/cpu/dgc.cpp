// dgc: a threshold from a sample (loads/dgc_search.h says how it is searched), then everything above it; still too many,
// because many magnitudes are equal: exactly K of them.
//
// Where nothing in between exists the exact selection takes over, so the bounds hold for every input.
#include <algorithm>
#include <bit>
#include <cmath>

#include "loads/cpu/sparse_load.h"
#include "loads/dgc_search.h"
#include "loads/parallel.h"

namespace gradsync {
namespace {

class Dgc final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::threshold_selection, .least_count = dgc::kLeast, .most_count = dgc::kMost};
  }

 private:
  std::int64_t most_selected(std::int64_t wanted) const override { return dgc::most_of(wanted); }
  void allocate_selection() override {
    least_ = dgc::least_of(wanted_);
    const std::int64_t size = dgc::sample_size(n_, options_.ratio);
    sample_.reserve(size);
    sample_.resize(size);
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
    const std::int64_t rank = dgc::rank_in_sample(sample_.size(), options_.ratio);
    const auto bits_larger = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) > std::bit_cast<std::uint32_t>(b);
    };
    std::nth_element(sample_.data(), sample_.data() + rank, sample_.data() + sample_.size(), bits_larger);
    traffic_.read += 4.0 * static_cast<double>(sample_.size());
    return std::bit_cast<std::uint32_t>(sample_[rank]);
  }

  std::uint32_t searched_threshold(std::span<const float> x) {
    return dgc::search(sampled_threshold(x), least_, most_,
                       [&](std::uint32_t magnitude) { return count_above(x, magnitude); });
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
