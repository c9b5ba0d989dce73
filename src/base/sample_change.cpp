#include "src/base/sample_change.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostUnits = 64;  // the exact test's cost grows with the fourth power
constexpr std::size_t kShortestBlock = 4;
constexpr double kMemories = 3;

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

// Of values and those `lag` places on. A short row shows less correlation than there is, by about 1/n: that is given
// back.
double rank_correlation(std::span<const double> values, std::size_t lag) {
  const std::vector<double> ranks = ranks_of(values);
  const double mean = static_cast<double>(values.size() - 1) / 2;
  double both = 0, own = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    own += (ranks[i] - mean) * (ranks[i] - mean);
    if (i + lag < ranks.size()) both += (ranks[i] - mean) * (ranks[i + lag] - mean);
  }
  return own == 0 ? 0 : both / own + 1 / static_cast<double>(values.size());
}

}  // namespace

std::optional<SampleChange> sample_change(std::span<const double> before, std::span<const double> after) {
  if (before.size() < kFewestUnits || after.size() < kFewestUnits) return std::nullopt;
  const std::vector<double> was = thinned(before, kMostUnits), is = thinned(after, kMostUnits);
  const std::optional<Shift> shift = hodges_lehmann(is, was);
  if (!shift) return std::nullopt;
  const double p = 2 * std::min(mann_whitney_greater(is, was), mann_whitney_greater(was, is));
  return SampleChange{*shift, std::min(1.0, p), was.size(), is.size()};
}

std::size_t block_length(std::span<const double> in_order) {
  if (in_order.size() < 2 * kShortestBlock) return kShortestBlock;
  const double first = rank_correlation(in_order, 1), second = rank_correlation(in_order, 2);
  // What is remembered fades from one step to the next by `decay`. Noise on top of it lowers both correlations and not
  // their ratio, which is believed where both stand out.
  double decay = std::max(first, 0.0);
  if (std::min(first, second) > 1.5 / std::sqrt(static_cast<double>(in_order.size())))
    decay = std::max(decay, second / first);
  decay = std::clamp(decay, 0.0, 0.95);
  const double needed = kMemories * (1 + decay) / (1 - decay);  // times as long as a value is remembered
  const auto shortest = static_cast<std::size_t>(std::ceil(needed));
  return std::max({kShortestBlock, shortest, in_order.size() / kMostUnits});
}

std::vector<double> block_medians(std::span<const double> in_order, std::size_t length) {
  std::vector<double> medians;
  for (std::size_t begin = in_order.size() % length; begin < in_order.size(); begin += length)
    medians.push_back(*median(in_order.subspan(begin, length)));
  return medians;
}

std::optional<RowChange> row_change(std::span<const double> before, std::span<const double> after) {
  const std::size_t block = std::max(block_length(before), block_length(after));
  const std::optional<SampleChange> change = sample_change(block_medians(before, block), block_medians(after, block));
  if (!change) return std::nullopt;
  return RowChange{*change, block};
}

}  // namespace gradsync
