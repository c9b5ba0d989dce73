// Rank statistics of two samples, exact and without any assumption about their distribution. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace gradsync {

// One-sided Mann-Whitney: the probability, if both samples came from one distribution, that `larger` ranks at least as
// high against `smaller` as it does. Exact: without ties by counting the arrangements of every U (Mann and Whitney's
// recursion); with ties over all ways to deal these tied mid-ranks out to the two samples, so the tie pattern that was
// seen is taken as given. 1 for an empty sample. Cost grows with the fourth power of the sample size: thin samples of
// more than 64 before (thinned() below).
double mann_whitney_greater(std::span<const double> larger, std::span<const double> smaller);

// The smallest U (pairs of which the first sample's value is larger) whose probability is below `level`, without ties.
// m * n + 1 when none is.
std::size_t critical_u(std::size_t m, std::size_t n, double level);

// Hodges-Lehmann: the median of all differences a - b, with the order statistics of them that bound it with 90 %
// confidence (5 % on either side; the extremes where the samples are too small for that).
struct Shift {
  double estimate = 0, p05 = 0, p95 = 0;
};
std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b);

// Wilcoxon's signed ranks of paired differences: is their middle zero? Exact: over all ways to give these ranks their
// signs (mid-ranks where magnitudes are tied), so it is a permutation test and asks for symmetry alone. Zeros are
// dropped from the test, not from the estimate: the median of all pairwise means, and the order statistics of them that
// bound it with 90 % confidence (the extremes where the sample is too small for that). Nothing for an empty sample.
struct PairedShift {
  Shift shift;
  double p = 1;  // two-sided
};
std::optional<PairedShift> signed_rank(std::span<const double> differences);

// Holm's step-down adjustment: p-values that may each be held against the level of the whole family. Order is kept.
std::vector<double> holm_adjusted(std::span<const double> p_values);

// At most `most` values, evenly spread over the sample in its order.
std::vector<double> thinned(std::span<const double> sample, std::size_t most);

}  // namespace gradsync
