// Lines through weighted points, both coefficients at least zero: what costs a start-up and a price per byte. Pure.
#pragma once

#include <span>
#include <vector>

namespace gradsync {

struct LinePoint {
  double x = 0, y = 0, weight = 1;
};

struct Line {
  double intercept = 0, slope = 0;
  double residual = 0;  // weighted sum of squares
  double at(double x) const { return intercept + slope * x; }
};

// Minimises sum w (y - a - b x)^2 with a, b >= 0: where the free minimum has a negative coefficient, that one is set to
// zero and the other fitted again.
Line fit_line(std::span<const LinePoint> points);

struct FittedSegment {
  std::size_t first = 0, last = 0;  // indices of points, inclusive
  Line line;
};

// Points in order of x, cut into at most `most_segments` lines of at least `fewest_points` each, not necessarily
// joined: dynamic programming over the cuts for the least residual, their number by BIC = M ln(R/M) + p ln M with
// p = 3q - 1, where a further segment must lower it by more than 6. Empty when there are fewer points than one needs.
std::vector<FittedSegment> fit_segments(std::span<const LinePoint> points, std::size_t most_segments = 3,
                                        std::size_t fewest_points = 3);

}  // namespace gradsync
