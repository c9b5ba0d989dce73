#include "analyzers/predict/track_record.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gradsync {
namespace {

constexpr double kHeld = 0.9;
constexpr double kNinetyPercent = 1.6449;  // standard deviations from the median to the end of a 90 % interval
constexpr double kWorthPercent = 2, kWorthProbability = 0.9;

// As fine as the draws tell it.
double normal_below(double deviations) {
  return std::round(kDraws * 0.5 * std::erfc(-deviations / std::sqrt(2.0))) / kDraws;
}

}  // namespace

double error_share(std::span<const double> errors) {
  std::vector<double> sorted(errors.begin(), errors.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < kFewestRecorded) return std::max(kPriorErrorShare, sorted.empty() ? 0 : sorted.back());
  const auto n = static_cast<double>(sorted.size());
  const auto rank = static_cast<std::size_t>(std::ceil(kHeld * (n + 1)));
  return sorted[std::min(rank, sorted.size()) - 1];
}

Prediction widened(const Prediction& prediction, double error_ms) {
  Prediction wide = prediction;
  wide.p05 = std::min(prediction.p05, prediction.p50 - error_ms);
  wide.p95 = std::max(prediction.p95, std::min(prediction.p50 + error_ms, std::max(prediction.cap_ms, 0.0)));
  const bool gains = prediction.p50 > 0;
  const double reach = std::max(error_ms, gains ? prediction.p50 - prediction.p05 : prediction.p95 - prediction.p50);
  if (reach <= 0) return wide;
  const double likely = normal_below(kNinetyPercent * prediction.p50 / reach);
  wide.probability = gains ? std::min(prediction.probability, likely) : std::max(prediction.probability, likely);
  return wide;
}

bool worth_trying(const Prediction& prediction, double step_ms) {
  return prediction.probability >= kWorthProbability && 100 * prediction.p50 >= kWorthPercent * step_ms;
}

}  // namespace gradsync
