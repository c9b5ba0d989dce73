#include "src/base/rank_test.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace gradsync {
namespace {

// Tail of U without ties: P(U >= u) for every u in 0 … m*n.
//   p(m, n, u) = m/(m+n) * p(m-1, n, u-n) + n/(m+n) * p(m, n-1, u)
// The largest of all values is of the first sample (it beats all n of the other) or of the second. Only sums of
// positive numbers, so nothing cancels.
std::vector<double> tail_without_ties(std::size_t m, std::size_t n) {
  std::vector<std::vector<double>> by_m(m + 1);  // the row of the current n
  for (std::size_t i = 0; i <= m; ++i) by_m[i] = {1.0};
  for (std::size_t j = 1; j <= n; ++j) {
    for (std::size_t i = 1; i <= m; ++i) {
      std::vector<double> next(i * j + 1, 0.0);
      const double first = static_cast<double>(i) / static_cast<double>(i + j);
      const std::vector<double>& without_first = by_m[i - 1];  // already of this j
      const std::vector<double>& without_second = by_m[i];     // still of j - 1
      for (std::size_t u = 0; u < without_first.size(); ++u) next[u + j] += first * without_first[u];
      for (std::size_t u = 0; u < without_second.size(); ++u) next[u] += (1 - first) * without_second[u];
      by_m[i] = std::move(next);
    }
  }
  std::vector<double> tail = std::move(by_m[m]);
  for (std::size_t u = tail.size() - 1; u > 0; --u) tail[u - 1] += tail[u];
  return tail;
}

// The tables of a run are few (one per pair of sample sizes) and asked for thousands of times. Per thread: no lock.
const std::vector<double>& cached_tail(std::size_t m, std::size_t n) {
  thread_local std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> tables;
  auto found = tables.find({m, n});
  if (found == tables.end()) found = tables.emplace(std::pair{m, n}, tail_without_ties(m, n)).first;
  return found->second;
}

struct Ranked {
  std::vector<std::size_t> groups;  // sizes of the groups of equal values, from the smallest value up
  std::size_t doubled_sum = 0;      // twice the sum of the first sample's mid-ranks: a whole number
  bool tied = false;
};

Ranked rank_together(std::span<const double> first, std::span<const double> second) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : first) all.emplace_back(value, true);
  for (const double value : second) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());
  Ranked ranked;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    std::size_t of_first = 0;
    for (; end < all.size() && all[end].first == all[begin].first; ++end) of_first += all[end].second ? 1 : 0;
    ranked.groups.push_back(end - begin);
    ranked.doubled_sum += of_first * (begin + 1 + end);  // ranks begin+1 … end: twice their mean
    ranked.tied |= end - begin > 1;
    begin = end;
  }
  return ranked;
}

// P(W <= w) for the doubled sum w of the ranks with a positive sign; `doubled_ranks` are 2, 4, … without ties.
std::vector<double> signed_rank_distribution(std::span<const std::size_t> doubled_ranks) {
  std::vector<double> share{1};
  for (const std::size_t rank : doubled_ranks) {
    std::vector<double> next(share.size() + rank, 0.0);
    for (std::size_t w = 0; w < share.size(); ++w) {
      next[w] += share[w] / 2;
      next[w + rank] += share[w] / 2;
    }
    share = std::move(next);
  }
  std::partial_sum(share.begin(), share.end(), share.begin());
  return share;
}

double signed_rank_p(std::span<const double> differences) {
  std::vector<double> sorted;
  for (const double value : differences)
    if (value != 0) sorted.push_back(value);
  std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  std::vector<std::size_t> doubled_ranks;
  std::size_t positive = 0;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[begin])) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      doubled_ranks.push_back(begin + 1 + end);
      if (sorted[i] > 0) positive += begin + 1 + end;
    }
    begin = end;
  }
  const std::vector<double> at_most = signed_rank_distribution(doubled_ranks);
  const std::size_t mirrored = at_most.size() - 1 - positive;  // the distribution is symmetric
  return std::min(1.0, 2 * at_most[std::min(positive, mirrored)]);
}

double choose(std::size_t n, std::size_t k) {
  double ways = 1;
  for (std::size_t i = 1; i <= k; ++i) ways = ways * static_cast<double>(n - k + i) / static_cast<double>(i);
  return ways;
}

// ways[k][s]: of dealing k of the ranks seen so far to the first sample so that their doubled sum is s.
double tail_with_ties(const Ranked& ranked, std::size_t m, std::size_t n) {
  const std::size_t most = m * (m + 2 * n + 1);  // the m highest ranks, doubled
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  std::size_t seen = 0;
  for (const std::size_t group : ranked.groups) {
    const std::size_t doubled_rank = 2 * seen + 1 + group;
    for (std::size_t k = std::min(m, seen + group); k > 0; --k)
      for (std::size_t take = 1; take <= std::min(k, group); ++take) {
        if (k - take > seen) continue;
        const double deals = choose(group, take);
        const std::vector<double>& from = ways[k - take];
        std::vector<double>& to = ways[k];
        const std::size_t add = take * doubled_rank;
        for (std::size_t s = add; s <= most; ++s) to[s] += deals * from[s - add];
      }
    seen += group;
  }
  const std::vector<double>& all = ways[m];
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(std::min(ranked.doubled_sum, most));
  return std::accumulate(from, all.end(), 0.0) / choose(m + n, m);
}

}  // namespace

double mann_whitney_greater(std::span<const double> larger, std::span<const double> smaller) {
  const std::size_t m = larger.size(), n = smaller.size();
  if (m == 0 || n == 0) return 1;
  const Ranked ranked = rank_together(larger, smaller);
  if (ranked.tied) return std::min(1.0, tail_with_ties(ranked, m, n));
  const std::size_t u = ranked.doubled_sum / 2 - m * (m + 1) / 2;
  return std::min(1.0, cached_tail(m, n)[u]);
}

std::size_t critical_u(std::size_t m, std::size_t n, double level) {
  const std::vector<double>& tail = cached_tail(m, n);
  return static_cast<std::size_t>(
      std::partition_point(tail.begin(), tail.end(), [level](double p) { return p >= level; }) - tail.begin());
}

std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return std::nullopt;
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a)
    for (const double y : b) differences.push_back(x - y);
  std::sort(differences.begin(), differences.end());
  const std::size_t count = differences.size(), half = count / 2;
  // The shift is below differences[k] when at most k of them are below it: P(U <= k).
  const std::vector<double>& tail = cached_tail(a.size(), b.size());
  std::size_t k = 0;
  while (k + 1 < half && 1 - tail[k + 2] <= 0.05) ++k;
  return Shift{count % 2 == 1 ? differences[half] : (differences[half - 1] + differences[half]) / 2, differences[k],
               differences[count - 1 - k]};
}

std::optional<PairedShift> signed_rank(std::span<const double> differences) {
  if (differences.empty()) return std::nullopt;
  std::vector<double> means;  // of every pair, and of every value with itself
  for (std::size_t i = 0; i < differences.size(); ++i)
    for (std::size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  std::sort(means.begin(), means.end());
  std::vector<std::size_t> doubled_ranks;
  for (std::size_t i = 1; i <= differences.size(); ++i) doubled_ranks.push_back(2 * i);
  const std::vector<double> at_most = signed_rank_distribution(doubled_ranks);
  const std::size_t count = means.size(), half = count / 2;
  // The middle is below means[k] when at most k of them are below it: P(W <= k).
  std::size_t k = 0;
  while (k + 1 < half && at_most[2 * (k + 1)] <= 0.05) ++k;
  const double middle = count % 2 == 1 ? means[half] : (means[half - 1] + means[half]) / 2;
  return PairedShift{{middle, means[k], means[count - 1 - k]}, signed_rank_p(differences)};
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, p_values[order[i]] * static_cast<double>(order.size() - i)));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

std::vector<double> thinned(std::span<const double> sample, std::size_t most) {
  if (sample.size() <= most) return {sample.begin(), sample.end()};
  std::vector<double> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(sample[i * sample.size() / most]);
  return kept;
}

}  // namespace gradsync
