#include "src/base/line_fit.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {
namespace {

// Times with a relative scale of 2 %, as a sweep weighs them.
LinePoint timed(double bytes, double us) { return {bytes, us, 1 / (us * 0.02 * us * 0.02)}; }

std::vector<LinePoint> doubling(int sizes, double (*us)(double)) {
  std::vector<LinePoint> points;
  double bytes = 1024;
  for (int i = 0; i < sizes; ++i, bytes *= 2) points.push_back(timed(bytes, us(bytes)));
  return points;
}

}  // namespace

TEST_CASE("a line is found, and a coefficient below zero is clamped before the other is fitted again") {
  const std::vector<LinePoint> exact{{1, 12, 1}, {2, 14, 3}, {5, 20, 2}};
  CHECK(fit_line(exact).intercept == doctest::Approx(10));
  CHECK(fit_line(exact).slope == doctest::Approx(2));
  CHECK(fit_line(exact).residual == doctest::Approx(0));
  const std::vector<LinePoint> falling{{1, 4, 1}, {2, 2, 1}};
  CHECK(fit_line(falling).slope == 0);
  CHECK(fit_line(falling).intercept == doctest::Approx(3));
  const std::vector<LinePoint> below{{1, 1, 1}, {2, 4, 1}};  // free: intercept -2
  CHECK(fit_line(below).intercept == 0);
  CHECK(fit_line(below).slope == doctest::Approx(9.0 / 5));
}

TEST_CASE("one line stays one segment, whatever rounding left of it") {
  const auto points = doubling(12, [](double bytes) { return 20 + bytes * 1e-4; });
  REQUIRE(fit_segments(points).size() == 1);
  CHECK(fit_segments(points)[0].line.intercept == doctest::Approx(20));
  std::vector<LinePoint> rounded = points;
  for (LinePoint& point : rounded) point.y = std::round(point.y * 100) / 100;
  CHECK(fit_segments(rounded).size() == 1);
}

TEST_CASE("a protocol switch with a jump is two segments, cut where it happens") {
  const auto points = doubling(14, [](double bytes) { return bytes < 40000 ? 10 + bytes * 5e-4 : 60 + bytes * 1e-4; });
  const auto segments = fit_segments(points);
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].last == 5);  // 32 KiB
  CHECK(segments[1].first == 6);
  CHECK(segments[0].line.intercept == doctest::Approx(10));
  CHECK(segments[1].line.intercept == doctest::Approx(60));
  CHECK(segments[1].line.slope == doctest::Approx(1e-4));
}

TEST_CASE("segments have at least three points; fewer points have no fit") {
  CHECK(fit_segments(doubling(2, [](double bytes) { return bytes; })).empty());
  CHECK(fit_segments(doubling(5, [](double bytes) { return bytes < 5000 ? 10.0 : 100 + bytes; })).size() == 1);
}

}  // namespace gradsync
