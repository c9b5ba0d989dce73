// topk_sort: sorts all magnitudes with their indices and takes the K largest, as a compressor does that calls a sort.
// Radix sort from the lowest byte, four passes that each count 256 bins and move every pair:
//   keys and indices W 8n, then 4 × (R 8n for counting and moving, in the cache the second time, W 8n)
#include <algorithm>
#include <array>
#include <bit>

#include "loads/cpu/sparse_load.h"

namespace gradsync {
namespace {

struct Pair {
  std::uint32_t key, index;
};

class TopkSort final : public SparseLoad {
 public:
  using SparseLoad::SparseLoad;
  LoadTraits traits() const override { return {.kind = LoadKind::exact_selection}; }
  std::optional<HistogramCount> histogram() const override { return HistogramCount{n_, counted_}; }

 private:
  void allocate_selection() override {
    pairs_.reserve(n_);
    other_.reserve(n_);
  }

  // Stable and by the complement of the magnitude: the largest come first, equal ones by index.
  void select(std::span<const float> x, Payload& payload) override {
    for (std::int64_t i = 0; i < n_; ++i)
      pairs_[i] = {~std::bit_cast<std::uint32_t>(x[static_cast<std::size_t>(i)]) & kernels::kMagnitude,
                   static_cast<std::uint32_t>(i)};
    Pair* from = pairs_.data();
    Pair* to = other_.data();
    for (int shift = 0; shift < 32; shift += 8, std::swap(from, to)) sort_by_byte(from, to, shift);
    std::sort(from, from + wanted_, [](const Pair& a, const Pair& b) { return a.index < b.index; });
    payload.indices.resize(wanted_);
    payload.values.resize(wanted_);
    for (std::int64_t i = 0; i < wanted_; ++i) {
      payload.indices[i] = from[i].index;
      payload.values[i] = x[from[i].index];
    }
    payload.not_finite = !all_finite(payload.values.span());
    const auto n = static_cast<double>(n_);
    traffic_ = {(4 + 4 * 16) * n, (8 + 4 * 8) * n};
  }

  void sort_by_byte(const Pair* from, Pair* to, int shift) {
    std::array<std::int64_t, 256> place{};
    for (std::int64_t i = 0; i < n_; ++i) ++place[from[i].key >> shift & 0xff];
    counted_ = 0;
    for (std::int64_t& start : place) {
      const std::int64_t count = start;
      start = counted_;
      counted_ += count;
    }
    for (std::int64_t i = 0; i < n_; ++i) to[place[from[i].key >> shift & 0xff]++] = from[i];
  }

  Buffer<Pair> pairs_, other_;
  std::int64_t counted_ = 0;
};

}  // namespace

std::unique_ptr<Load> make_topk_sort(const LoadOptions& options) { return std::make_unique<TopkSort>(options); }

}  // namespace gradsync
