#include "src/base/statistics.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("quantiles interpolate between order statistics") {
  const std::vector<double> sample{40, 10, 30, 20};
  struct Case {
    double q, expected;
  };
  for (const Case& c : {Case{0, 10}, {0.5, 25}, {1, 40}, {1.0 / 3, 20}, {0.1, 13}}) {
    CAPTURE(c.q);
    CHECK(*quantile(sample, c.q) == doctest::Approx(c.expected));
  }
  CHECK_FALSE(quantile({}, 0.5).has_value());
}

TEST_CASE("spread sorts once and counts") {
  const std::vector<double> sample{5, 1, 4, 2, 3};
  const auto found = spread(sample);
  REQUIRE(found);
  CHECK(found->n == 5);
  CHECK(found->minimum == 1);
  CHECK(found->p50 == 3);
  CHECK(found->maximum == 5);
  CHECK_FALSE(spread({}).has_value());
}

TEST_CASE("resolution of the median") {
  CHECK_FALSE(median_resolution(std::vector<double>{1, 2, 3}).has_value());
  CHECK(*median_resolution(std::vector<double>(50, 7.0)) == 0);

  std::vector<double> narrow, wide;
  for (int i = 0; i < 100; ++i) {
    narrow.push_back(100 + i % 10);
    wide.push_back(100 + 10 * (i % 10));
  }
  CHECK(*median_resolution(wide) > *median_resolution(narrow));
  CHECK(*median_resolution(wide) == *median_resolution(wide));  // fixed seed
}

TEST_CASE("the difference of two medians holds zero unless they lie apart") {
  const std::vector<double> low{10, 11, 10, 12, 11, 10, 11, 12}, high{20, 21, 22, 20, 21, 23, 20, 21};
  const auto apart = median_difference(low, high);
  REQUIRE(apart);
  CHECK(apart->value == doctest::Approx(10));
  CHECK(apart->low > 0);
  const auto same = median_difference(low, std::vector<double>{11, 10, 12, 10, 11, 12, 10, 11});
  REQUIRE(same);
  CHECK(same->low <= 0);
  CHECK(same->high >= 0);
  CHECK_FALSE(median_difference(std::vector<double>{1, 2, 3}, low));
}

TEST_CASE("a share and its interval") {
  const auto half = binomial_share(50, 100);
  REQUIRE(half);
  CHECK(half->value == doctest::Approx(0.5));
  CHECK(half->low == doctest::Approx(0.4038).epsilon(0.001));  // Wilson (1927), worked by hand
  CHECK(half->high == doctest::Approx(0.5962).epsilon(0.001));
  const auto none = binomial_share(0, 10);
  REQUIRE(none);
  CHECK(none->low == doctest::Approx(0).epsilon(1e-9));
  CHECK(none->high == doctest::Approx(0.2775).epsilon(0.001));
  CHECK(binomial_share(10, 10)->high == doctest::Approx(1));
  for (const auto& [part, whole] : {std::pair(0, 0), std::pair(-1, 10), std::pair(11, 10)})
    CHECK_FALSE(binomial_share(part, whole));
}
