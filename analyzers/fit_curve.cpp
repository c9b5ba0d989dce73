#include "analyzers/fit_curve.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "src/base/line_fit.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr double kLeastScale = 0.02;  // a timer and a printed number are no better than this
constexpr double kWideScale = 0.1;
constexpr int kDraws = 1000;
constexpr std::uint64_t kSeed = 20240917;

// Robust relative standard deviation: 1.4826 MAD / median.
double relative_scale(const std::vector<double>& us) {
  const double center = *median(us);
  std::vector<double> off;
  for (const double value : us) off.push_back(std::abs(value - center));
  return 1.4826 * *median(off) / center;
}

std::vector<LinePoint> weighed_points(const std::vector<SizeSample>& sizes, CurveFit& fit) {
  std::vector<double> scales;
  for (const SizeSample& size : sizes) {
    scales.push_back(relative_scale(size.us));
    fit.n += static_cast<std::int64_t>(size.us.size());
  }
  const bool wide = *median(scales) > kWideScale;
  fit.location = wide ? "p10" : "p50";
  std::vector<LinePoint> points;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double time = *quantile(sizes[i].us, wide ? 0.1 : 0.5);
    const double scale = time * std::max(scales[i], kLeastScale);
    points.push_back({static_cast<double>(sizes[i].bytes), time, 1 / (scale * scale)});
  }
  return points;
}

// Of a sweep the location is held against the fit; of a log, whose few times have no location, each of them.
std::vector<double> times_to_meet(const SizeSample& size, const LinePoint& point) {
  return size.us.size() < kFewestRepeats ? size.us : std::vector<double>{point.y};
}

void judge(const std::vector<SizeSample>& sizes, const std::vector<LinePoint>& points,
           const std::vector<FittedSegment>& segments, CurveFit& fit) {
  double count = 0, mean_log = 0, explained = 0, all = 0;
  for (const LinePoint& point : points) mean_log += std::log(point.y) / static_cast<double>(points.size());
  for (const FittedSegment& segment : segments)
    for (std::size_t i = segment.first; i <= segment.last; ++i)
      for (const double time : times_to_meet(sizes[i], points[i])) {
        const double fitted = segment.line.at(points[i].x);
        const double off = 100 * std::abs(fitted / time - 1);
        fit.mape_percent += off;
        fit.worst_percent = std::max(fit.worst_percent, off);
        explained += std::pow(std::log(time / std::max(fitted, 1e-9)), 2);
        all += std::pow(std::log(time) - mean_log, 2);
        ++count;
      }
  fit.mape_percent /= count;
  fit.r2_log = all > 0 ? 1 - explained / all : 1;
}

// Relative residuals of the whole curve, made as wide as those of points that no line was fitted to.
std::vector<double> residuals_of(const std::vector<LinePoint>& points, const std::vector<FittedSegment>& segments) {
  const auto count = static_cast<double>(points.size()), used = 2.0 * static_cast<double>(segments.size());
  const double widen = count > used ? std::sqrt(count / (count - used)) : 1;
  std::vector<double> residuals;
  for (const FittedSegment& segment : segments)
    for (std::size_t i = segment.first; i <= segment.last; ++i)
      residuals.push_back(widen * (points[i].y / std::max(segment.line.at(points[i].x), 1e-9) - 1));
  return residuals;
}

SegmentFit with_interval(const std::vector<LinePoint>& points, const FittedSegment& segment,
                         const std::vector<double>& residuals, std::mt19937_64& random) {
  std::vector<LinePoint> drawn(points.begin() + static_cast<std::ptrdiff_t>(segment.first),
                               points.begin() + static_cast<std::ptrdiff_t>(segment.last) + 1);
  std::vector<double> alphas, betas;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (LinePoint& point : drawn)
      point.y = std::max(0.0, segment.line.at(point.x) * (1 + residuals[random() % residuals.size()]));
    const Line line = fit_line(drawn);
    alphas.push_back(line.intercept);
    betas.push_back(line.slope);
  }
  return {static_cast<std::int64_t>(points[segment.first].x),
          static_cast<std::int64_t>(points[segment.last].x),
          {segment.line.intercept, *quantile(alphas, 0.05), *quantile(alphas, 0.95)},
          {segment.line.slope, *quantile(betas, 0.05), *quantile(betas, 0.95)}};
}

}  // namespace

std::optional<CurveFit> fit_curve(const std::vector<SizeSample>& sizes) {
  CurveFit fit;
  if (sizes.size() < 3) return std::nullopt;
  const std::vector<LinePoint> points = weighed_points(sizes, fit);
  const std::vector<FittedSegment> segments = fit_segments(points);
  judge(sizes, points, segments, fit);
  const std::vector<double> residuals = residuals_of(points, segments);
  std::mt19937_64 random(kSeed);
  for (const FittedSegment& segment : segments)
    fit.segments.push_back(with_interval(points, segment, residuals, random));
  return fit;
}

}  // namespace gradsync
