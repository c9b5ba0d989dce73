// topk_select: exactly the K largest magnitudes, by radix select. Digits of 12, 10 and 9 bits:
//
//   digit 1    histogram of exponent and 4 bits of mantissa: the K-th lies in one bin           R 4n
//   take       that bin and all above it, when they are at most 4 K                              R 4n  W 8 candidates
//   digits     2 and 3 on the candidates, and the candidates that are chosen are taken
//
// More candidates than that: the other digits look at the whole vector.
#include "loads/cuda/device_code.h"
#include "loads/cuda/selection.h"

namespace gradsync::cuda {
namespace {

constexpr int kFirstShift = 19;
constexpr std::int64_t kCandidates = 4;  // times K

class TopkSelect final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override {
    return {.kind = LoadKind::exact_selection, .keeps_residual = asked_for_residual()};
  }

 private:
  void allocate_selection() override {
    candidates_ = std::min(n_, kCandidates * wanted_);
    indices_.reserve(candidates_);
    values_.reserve(candidates_);
    candidate_outcome_.assign_zeros(1);
  }

  void encode(const float* x) override {
    fill_zeros(candidate_outcome_.data(), sizeof(Outcome));
    selector_.begin();
    selector_.digit(all(x), wanted_, wanted_, kFirstShift);
    selector_.take(all(x), {indices_.data(), values_.data(), candidates_, candidate_outcome_.data()});
    const Entries candidates{values_.data(), indices_.data(), &candidate_outcome_.data()->count, candidates_};
    selector_.digit(candidates, wanted_, wanted_, 9);
    selector_.digit(candidates, wanted_, wanted_, 0);
    selector_.take(candidates, into_own());
    traffic_ = {2 * pass(), 8.0 * static_cast<double>(wanted_), 0};
  }

  bool accepts(const Outcome&) override {
    const std::int64_t found = copy_out(candidate_outcome_).count;
    traffic_.written += 8.0 * static_cast<double>(std::min(found, candidates_));
    return found <= candidates_;
  }

  // Candidates that were cut off have been counted, so the digits begin anew.
  void encode_again(const float* x) override {
    selector_.begin();
    selector_.digits(all(x), wanted_, wanted_);
    selector_.take(all(x), into_own());
    traffic_.read += 4 * pass();
    traffic_.written += 8.0 * static_cast<double>(wanted_);
  }

  std::int64_t candidates_ = 0;
  DeviceBuffer<std::uint32_t> indices_;
  DeviceBuffer<float> values_;
  DeviceBuffer<Outcome> candidate_outcome_;
};

}  // namespace

std::unique_ptr<Load> make_topk_select(const LoadOptions& options) { return std::make_unique<TopkSelect>(options); }

}  // namespace gradsync::cuda
