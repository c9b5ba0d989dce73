#include "src/base/line_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace gradsync {
namespace {

// Weighted residuals below this share of a point's own scale are rounding of what printed the times: fitting them
// better is no evidence for another segment.
constexpr double kLeastMeanResidual = 1e-3;
constexpr double kWorthASegment = 6;

Line with_residual(std::span<const LinePoint> points, double intercept, double slope) {
  Line line{intercept, slope, 0};
  for (const LinePoint& point : points) {
    const double off = point.y - line.at(point.x);
    line.residual += point.weight * off * off;
  }
  return line;
}

double bic(double residual, std::size_t points, std::size_t segments) {
  const auto m = static_cast<double>(points);
  return m * std::log(std::max(residual / m, kLeastMeanResidual)) +
         (3 * static_cast<double>(segments) - 1) * std::log(m);
}

}  // namespace

Line fit_line(std::span<const LinePoint> points) {
  double w = 0, wx = 0, wy = 0;
  for (const LinePoint& point : points) {
    w += point.weight;
    wx += point.weight * point.x;
    wy += point.weight * point.y;
  }
  if (w <= 0) return {};
  const double mean_x = wx / w, mean_y = wy / w;
  double xx = 0, xy = 0, wxx = 0, wxy = 0;
  for (const LinePoint& point : points) {
    xx += point.weight * (point.x - mean_x) * (point.x - mean_x);
    xy += point.weight * (point.x - mean_x) * (point.y - mean_y);
    wxx += point.weight * point.x * point.x;
    wxy += point.weight * point.x * point.y;
  }
  const double slope = xx > 0 ? xy / xx : 0;
  const double intercept = mean_y - slope * mean_x;
  if (slope >= 0 && intercept >= 0) return with_residual(points, intercept, slope);
  const Line flat = with_residual(points, std::max(mean_y, 0.0), 0);
  const Line through_zero = with_residual(points, 0, wxx > 0 ? std::max(wxy / wxx, 0.0) : 0);
  return flat.residual <= through_zero.residual ? flat : through_zero;
}

std::vector<FittedSegment> fit_segments(std::span<const LinePoint> points, std::size_t most_segments,
                                        std::size_t fewest_points) {
  const std::size_t count = points.size();
  if (count < fewest_points) return {};
  // best[q][end]: the cheapest q + 1 segments over the points before `end`, with the last one's first point.
  struct Best {
    double residual = std::numeric_limits<double>::infinity();
    std::size_t first = 0;
  };
  std::vector<std::vector<Best>> best(most_segments, std::vector<Best>(count + 1));
  for (std::size_t first = 0; first < count; ++first)
    for (std::size_t end = first + fewest_points; end <= count; ++end) {
      const double residual = fit_line(points.subspan(first, end - first)).residual;
      if (first == 0) best[0][end] = {residual, 0};
      for (std::size_t q = 1; q < most_segments && first > 0; ++q) {
        const double sum = best[q - 1][first].residual + residual;
        if (sum < best[q][end].residual) best[q][end] = {sum, first};
      }
    }
  std::size_t chosen = 0;
  for (std::size_t q = 1; q < most_segments; ++q)
    if (std::isfinite(best[q][count].residual) &&
        bic(best[q][count].residual, count, q + 1) <
            bic(best[chosen][count].residual, count, chosen + 1) - kWorthASegment)
      chosen = q;
  std::vector<FittedSegment> segments;
  std::size_t end = count;
  for (std::size_t q = chosen + 1; q-- > 0;) {
    const std::size_t first = best[q][end].first;
    segments.push_back({first, end - 1, fit_line(points.subspan(first, end - first))});
    end = first;
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace gradsync
