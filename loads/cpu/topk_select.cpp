// topk_select: exactly the K largest magnitudes, by radix select. Digits of 12, 10 and 9 bits; as soon as the elements
// that may still be chosen are few, they are copied out and the later digits look at them alone.
//
//   digit 1   histogram of exponent and 4 bits of mantissa: the K-th lies in one bin             R 4n
//   gather    that bin and all above it, when they are at most 4 K                                R 4n  W 8 candidates
//   digits    2 and 3 on the candidates, and the candidates that are chosen stay
#include <numeric>

#include "loads/cpu/sparse_load.h"

namespace gradsync {
namespace {

constexpr int kFirstShift = 19;
constexpr std::int64_t kCandidates = 4;  // times K

class TopkSelect final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::exact_selection}; }
  void reserve(Payload& payload) const override {
    const std::int64_t room = kCandidates * wanted_ + kSelectSlack;
    payload.reserve(room, room, 0);
  }
  std::optional<HistogramCount> histogram() const override {
    return HistogramCount{counted_, std::accumulate(bins_.begin(), bins_.end(), std::int64_t{0})};
  }

 private:
  void select(std::span<const float> x, Payload& payload) override {
    const double pass = 4 * static_cast<double>(n_);
    count_bins(x, kFirstShift, bins_, options_.threads);
    counted_ = n_;
    const Bin bin = find_bin(bins_, wanted_);
    traffic_ = {pass, 0};
    if (gather(x, bin.number << kFirstShift, kCandidates * wanted_, scratch_, payload, options_.threads)) {
      traffic_.read += pass;
      traffic_.written += 8.0 * static_cast<double>(payload.indices.size());
      if (payload.indices.size() > wanted_) keep_cut(find_cut(payload.values.span(), wanted_, wanted_, 1), payload);
    } else {
      const Cut cut = find_cut(x, wanted_, wanted_, options_.threads);
      gather_cut(x, cut, scratch_, payload, options_.threads);
      traffic_.read += pass * (cut.passes + 1);
      traffic_.written += 8.0 * static_cast<double>(wanted_);
    }
    payload.not_finite = !all_finite(payload.values.span());
  }

  std::vector<std::uint32_t> bins_;
  std::vector<Entries> scratch_;
  std::int64_t counted_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_topk_select(const LoadOptions& options) { return std::make_unique<TopkSelect>(options); }

}  // namespace gradsync
