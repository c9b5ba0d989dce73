#include "analyzers/find_cliffs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "src/base/rank_test.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr std::size_t kReach = 3;  // pairs (i, j) with j <= i + 3
constexpr std::size_t kMostRepeats = 48;
constexpr double kJump = 4;  // within one size, between the quartiles
constexpr double kPower = 0.9;
constexpr int kDraws = 300;
constexpr double kPlannedRepeats = 10;
constexpr std::uint64_t kSeed = 20240917;
constexpr std::array<double, 13> kDrops{0.12, 0.15, 0.18, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90};

using Sample = std::vector<double>;

// Logarithms of the cost per byte.
std::vector<Sample> log_costs(const std::vector<SizeSample>& sizes) {
  std::vector<Sample> costs;
  for (const SizeSample& size : sizes) {
    Sample cost = thinned(size.us, kMostRepeats);
    for (double& us : cost) us = std::log(us / static_cast<double>(size.bytes));
    costs.push_back(std::move(cost));
  }
  return costs;
}

std::size_t pair_count(std::size_t sizes) {
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < sizes; ++i) pairs += std::min(kReach, sizes - 1 - i);
  return pairs;
}

std::vector<Cliff> test_pairs(const std::vector<Sample>& costs) {
  std::vector<Cliff> pairs;
  std::vector<double> p_values;
  for (std::size_t j = 1; j < costs.size(); ++j)
    for (std::size_t i = j - 1; i + kReach >= j; --i) {
      const Shift shift = *hodges_lehmann(costs[j], costs[i]);
      const auto drop = [](double log_ratio) { return 1 - std::exp(-log_ratio); };
      pairs.push_back({i, j, j, drop(shift.estimate), drop(shift.p05), drop(shift.p95), 1,
                       static_cast<std::int64_t>(costs[i].size() + costs[j].size())});
      // Where no drop is estimated p is about a half or more, and Holm makes it 1: not worth counting arrangements.
      p_values.push_back(shift.estimate > 0 ? mann_whitney_greater(costs[j], costs[i]) : 1);
      if (i == 0) break;
    }
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (std::size_t k = 0; k < pairs.size(); ++k) pairs[k].p_value = adjusted[k];
  return pairs;
}

// The last of the sizes from `at` on whose cost per byte is still 10 % of bandwidth above that before the drop.
std::size_t end_of(const Cliff& cliff, const std::vector<Sample>& costs) {
  const double back = *median(costs[cliff.before]) - std::log(1 - kLeastDrop);
  std::size_t last = cliff.at;
  while (last + 1 < costs.size() && *median(costs[last + 1]) > back) ++last;
  return last;
}

// Holm's level of the whole family. A sweep asks again whenever its repeats have grown; shrinking the level with their
// square keeps the sum of all these chances of a false alarm near that of the first (benchmarks/cliff_power.cpp).
double level_of(const std::vector<Sample>& costs) {
  std::size_t most = 0;
  for (const Sample& cost : costs) most = std::max(most, cost.size());
  const double grown = std::max(1.0, static_cast<double>(most) / kPlannedRepeats);
  return kFamilyLevel / (grown * grown);
}

// Of a drop between two sizes up to six pairs tell. It is named by the first: the smallest larger size, and with it the
// nearest smaller one. What falls on behind it is another.
std::vector<Cliff> distinct(const std::vector<Cliff>& pairs, const std::vector<Sample>& costs) {
  std::vector<Cliff> cliffs;
  std::size_t from = 0;
  for (const Cliff& pair : pairs) {
    if (pair.before < from) continue;
    cliffs.push_back(pair);
    cliffs.back().last = end_of(pair, costs);
    from = pair.at;
  }
  return cliffs;
}

// Pairs of which the value of `a` is above that of `b` by more than `margin`. Both sorted.
std::size_t wins(const Sample& a, const Sample& b, double margin) {
  std::size_t count = 0, below = 0;
  for (const double value : a) {
    while (below < b.size() && b[below] < value - margin) ++below;
    count += below;
  }
  return count;
}

// Would a drop between two neighbouring sizes have been proved? The curve stays as it was measured on either side, its
// step there becomes the drop, and calls are drawn from the residuals of their own size.
class Power {
 public:
  explicit Power(const std::vector<Sample>& costs)
      : level_(level_of(costs) / static_cast<double>(pair_count(costs.size()))) {
    for (const Sample& cost : costs) {
      centers_.push_back(*median(cost));
      residuals_.push_back(cost);
      for (double& value : residuals_.back()) value -= centers_.back();
    }
  }

  // The smallest of kDrops that is proved in nine of ten draws when it lies before size `at`; 1: none is.
  double visible(std::size_t at) {
    const auto first =
        std::partition_point(kDrops.begin(), kDrops.end(), [&](double drop) { return !enough(at, drop); });
    return first != kDrops.end() ? *first : 1;
  }

 private:
  bool enough(std::size_t at, double drop) {
    int missed = 0;
    for (int d = 0; d < kDraws && missed <= (1 - kPower) * kDraws; ++d) missed += proved(at, drop) ? 0 : 1;
    return missed <= (1 - kPower) * kDraws;
  }

  // The pairs across the drop, nearest first; most draws are decided by the first.
  bool proved(std::size_t at, double drop) {
    const double step = centers_[at - 1] - centers_[at] - std::log(1 - drop);
    std::array<Sample, kReach> before, behind;
    for (std::size_t apart = 1; apart <= kReach; ++apart)
      for (std::size_t i = 0; i < apart; ++i) {
        const std::size_t low = at - 1 - i, high = at + apart - 1 - i;
        if (low >= at || high >= centers_.size()) continue;  // below the first size wraps around
        if (before[i].empty()) before[i] = draw(low, 0);
        if (behind[high - at].empty()) behind[high - at] = draw(high, step);
        if (significant(behind[high - at], before[i])) return true;
      }
    return false;
  }

  bool significant(const Sample& behind, const Sample& before) {
    const std::size_t half = (before.size() * behind.size() + 1) / 2;
    if (wins(behind, before, -std::log(1 - kLeastDrop)) < half) return false;
    const auto [known, added] = critical_.try_emplace({behind.size(), before.size()}, 0);
    if (added) known->second = critical_u(behind.size(), before.size(), level_);
    return wins(behind, before, 0) >= known->second;
  }

  Sample draw(std::size_t size, double shift) {
    const Sample& residuals = residuals_[size];
    Sample drawn(residuals.size());
    for (double& value : drawn) value = centers_[size] + shift + residuals[random_() % residuals.size()];
    std::sort(drawn.begin(), drawn.end());
    return drawn;
  }

  std::vector<double> centers_;
  std::vector<Sample> residuals_;
  double level_;  // of the first of Holm's steps, the hardest one
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> critical_;
  std::mt19937_64 random_{kSeed};
};

void add_visible(const std::vector<SizeSample>& sizes, CliffSearch& search) {
  if (sizes.size() < 2) return;
  Power power(log_costs(sizes));
  for (std::size_t at = 1; at < sizes.size(); ++at) search.visible.push_back(power.visible(at));
}

}  // namespace

std::vector<std::size_t> jumping_sizes(const std::vector<SizeSample>& sizes) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (*quantile(sizes[i].us, 0.75) >= kJump * *quantile(sizes[i].us, 0.25)) found.push_back(i);
  return found;
}

double CliffSearch::smallest_visible() const {
  return visible.empty() ? 1 : *std::max_element(visible.begin(), visible.end());
}

CliffSearch test_for_cliffs(const std::vector<SizeSample>& sizes) {
  CliffSearch search;
  if (sizes.size() < 2) return search;
  const std::vector<Sample> costs = log_costs(sizes);
  const double level = level_of(costs);
  search.pairs = pair_count(sizes.size());
  search.unstable = jumping_sizes(sizes);
  const std::set<std::size_t> jumps(search.unstable.begin(), search.unstable.end());
  std::vector<Cliff> proved;
  for (const Cliff& pair : test_pairs(costs)) {
    if (pair.drop < kLeastDrop || (jumps.contains(pair.before) && jumps.contains(pair.at))) continue;
    if (pair.p_value < level)
      proved.push_back(pair);
    else if (pair.drop_p05 > 0)
      search.open.push_back(pair);
  }
  search.proved = distinct(proved, costs);
  return search;
}

CliffSearch find_cliffs(const std::vector<SizeSample>& sizes) {
  CliffSearch search = test_for_cliffs(sizes);
  add_visible(sizes, search);
  return search;
}

std::vector<std::int64_t> sizes_to_repeat(const std::vector<SizeSample>& sizes) {
  std::set<std::int64_t> wanted;
  std::vector<SizeSample> judged;
  for (const SizeSample& size : sizes) {
    if (size.us.size() < kFewestRepeats)
      wanted.insert(size.bytes);
    else
      judged.push_back(size);
  }
  CliffSearch search = test_for_cliffs(judged);
  if (!search.proved.empty()) return {wanted.begin(), wanted.end()};
  if (search.open.empty()) add_visible(judged, search);
  const auto want = [&](std::size_t before, std::size_t at) {
    wanted.insert({judged[before].bytes, judged[at].bytes});
  };
  for (const Cliff& pair : search.open) want(pair.before, pair.at);
  for (std::size_t i = 0; i < search.visible.size(); ++i)
    if (search.visible[i] > kMustBeVisible) want(i, i + 1);
  return {wanted.begin(), wanted.end()};
}

std::map<std::string, std::vector<std::int64_t>> undecided_sizes(const SeriesSet& samples) {
  std::map<std::string, std::vector<std::int64_t>> undecided;
  for (const FabricCurve& curve : judged_curves(fabric_curves(samples, kNotMeasured))) {
    if (!curve.live() || !curve.load.empty()) continue;
    const std::vector<std::int64_t> sizes = sizes_to_repeat(curve.sizes);
    std::vector<std::int64_t>& all = undecided[curve.operation];
    all.insert(all.end(), sizes.begin(), sizes.end());
  }
  std::erase_if(undecided, [](const auto& entry) { return entry.second.empty(); });
  return undecided;
}

}  // namespace gradsync
