#include "src/base/rank_test.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gradsync {
namespace {

using Sample = std::vector<double>;

// By definition: over every choice of m of the pooled values for the first sample.
double by_enumeration(const Sample& larger, const Sample& smaller) {
  Sample pooled = larger;
  pooled.insert(pooled.end(), smaller.begin(), smaller.end());
  const auto wins = [](const Sample& a, const Sample& b) {
    double sum = 0;
    for (const double x : a)
      for (const double y : b) sum += x > y ? 1 : x == y ? 0.5 : 0;
    return sum;
  };
  const double seen = wins(larger, smaller);
  std::vector<bool> first(pooled.size(), false);
  std::fill(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(larger.size()), true);
  double as_high = 0, all = 0;
  do {
    Sample a, b;
    for (std::size_t i = 0; i < pooled.size(); ++i) (first[i] ? a : b).push_back(pooled[i]);
    ++all;
    as_high += wins(a, b) >= seen ? 1 : 0;
  } while (std::prev_permutation(first.begin(), first.end()));
  return as_high / all;
}

}  // namespace

TEST_CASE("Mann-Whitney: known tails") {
  CHECK(mann_whitney_greater(Sample{6, 7, 8, 9, 10}, Sample{1, 2, 3, 4, 5}) == doctest::Approx(1.0 / 252));
  CHECK(mann_whitney_greater(Sample{1, 2, 3}, Sample{4, 5, 6}) == doctest::Approx(1));
  CHECK(mann_whitney_greater(Sample{3, 1}, Sample{2, 0}) == doctest::Approx(2.0 / 6));  // U = 3 of 4
  CHECK(mann_whitney_greater(Sample{}, Sample{1}) == 1);
}

TEST_CASE("Mann-Whitney is the share of all ways to deal the pooled values, with and without ties") {
  const std::vector<std::pair<Sample, Sample>> cases{
      {{5, 9, 2, 8}, {1, 7, 3}}, {{1, 2, 3, 4, 10}, {5, 6, 7}}, {{2, 2, 3, 5}, {1, 2, 3, 3}},
      {{1, 1, 1}, {1, 1, 1}},    {{4, 4, 4, 1}, {4, 1, 1}},     {{3, 3, 4, 5, 5}, {1, 3, 3, 2, 5}},
  };
  for (const auto& [a, b] : cases) {
    CHECK(mann_whitney_greater(a, b) == doctest::Approx(by_enumeration(a, b)));
    CHECK(mann_whitney_greater(b, a) == doctest::Approx(by_enumeration(b, a)));
  }
}

TEST_CASE("large samples stay exact: the most extreme arrangement has probability 1 / C(128, 64)") {
  Sample low(64), high(64);
  std::iota(low.begin(), low.end(), 0.0);
  std::iota(high.begin(), high.end(), 100.0);
  CHECK(std::log10(mann_whitney_greater(high, low)) == doctest::Approx(-37.3794).epsilon(1e-4));
  high[0] = high[1];  // one tie inside a sample changes nothing that counts
  CHECK(std::log10(mann_whitney_greater(high, low)) == doctest::Approx(-37.3794).epsilon(1e-4));
}

TEST_CASE("critical U: the first that is rarer than the level; five against five never are after 27 pairs") {
  CHECK(critical_u(5, 5, 0.05) == 21);
  CHECK(critical_u(5, 5, 1.0 / 252) == 26);
  CHECK(critical_u(5, 5, 0.05 / 27) == 26);
  CHECK(critical_u(7, 7, 0.05 / 27) <= 49);
}

TEST_CASE("Hodges-Lehmann: the median of the differences, within order statistics") {
  const Shift shift = *hodges_lehmann(Sample{10, 11, 12}, Sample{1, 2, 4});
  CHECK(shift.estimate == doctest::Approx(9));  // 6 7 8 8 9 9 10 10 11
  CHECK(shift.p05 == doctest::Approx(6));
  CHECK(shift.p95 == doctest::Approx(11));
  const Sample many{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Shift none = *hodges_lehmann(many, many);
  CHECK(none.estimate == 0);
  CHECK(none.p05 > -9);
  CHECK(none.p05 < 0);
  CHECK(none.p95 == doctest::Approx(-none.p05));
  CHECK_FALSE(hodges_lehmann(Sample{}, many));
}

TEST_CASE("signed ranks: exact against the table of all sign patterns, ties as mid-ranks, zeros dropped") {
  CHECK(signed_rank(Sample{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})->p == doctest::Approx(2.0 / 1024));
  // W- = 1 + 3 = 4 of 8 values: seven patterns of 256 are as small (0 1 2 3 1+2 4 1+3), two-sided
  CHECK(signed_rank(Sample{-1, 2, -3, 4, 5, 6, 7, 8})->p == doctest::Approx(2 * 7.0 / 256));
  // mid-ranks 1.5 1.5 3 4: W- = 1.5, of 16 patterns those with 0 and the two with 1.5
  CHECK(signed_rank(Sample{-1, 1, 2, 3})->p == doctest::Approx(2 * 3.0 / 16));
  CHECK(signed_rank(Sample{0, 0, 5})->p == 1);
  CHECK_FALSE(signed_rank(Sample{}));
}

TEST_CASE("signed ranks: the median of the pairwise means, between those that bound it with 90 %") {
  const PairedShift three = *signed_rank(Sample{1, 2, 6});  // 1 1.5 2 3.5 4 6
  CHECK(three.shift.estimate == doctest::Approx(2.75));
  CHECK(three.shift.p05 == doctest::Approx(1));
  CHECK(three.shift.p95 == doctest::Approx(6));
  // ten values: P(W <= 10) is 4.2 %, so the eleventh mean from either end: 1 1.5 2 2 2.5 2.5 3 3 3 3.5 3.5
  const PairedShift ten = *signed_rank(Sample{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(ten.shift.estimate == doctest::Approx(5.5));
  CHECK(ten.shift.p05 == doctest::Approx(3.5));
  CHECK(ten.shift.p95 == doctest::Approx(7.5));
}

TEST_CASE("Holm: step down, never above one, never falling") {
  const std::vector<double> adjusted = holm_adjusted(Sample{0.01, 0.04, 0.03, 0.5});
  CHECK(adjusted[0] == doctest::Approx(0.04));
  CHECK(adjusted[2] == doctest::Approx(0.09));
  CHECK(adjusted[1] == doctest::Approx(0.09));
  CHECK(adjusted[3] == doctest::Approx(0.5));
  CHECK(holm_adjusted(Sample{0.7, 0.9})[0] == 1);
}

TEST_CASE("thinning keeps order and ends at the limit") {
  CHECK(thinned(Sample{1, 2, 3}, 5) == Sample{1, 2, 3});
  CHECK(thinned(Sample{0, 1, 2, 3, 4, 5, 6, 7}, 4) == Sample{0, 2, 4, 6});
}

}  // namespace gradsync
