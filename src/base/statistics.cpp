#include "src/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace gradsync {
namespace {

double sorted_quantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * fraction;
}

std::vector<double> sorted_copy(std::span<const double> sample) {
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

std::optional<double> quantile(std::span<const double> sample, double q) {
  if (sample.empty()) return std::nullopt;
  return sorted_quantile(sorted_copy(sample), std::clamp(q, 0.0, 1.0));
}

std::optional<double> median(std::span<const double> sample) { return quantile(sample, 0.5); }

std::optional<Spread> spread(std::span<const double> sample) {
  if (sample.empty()) return std::nullopt;
  const std::vector<double> sorted = sorted_copy(sample);
  return Spread{static_cast<std::int64_t>(sorted.size()),
                sorted.front(),
                sorted_quantile(sorted, 0.1),
                sorted_quantile(sorted, 0.5),
                sorted_quantile(sorted, 0.9),
                sorted.back()};
}

std::optional<double> median_resolution(std::span<const double> sample, int draws) {
  if (sample.size() < 4) return std::nullopt;
  // A long run resolves no finer by resampling all of it: every k-th value keeps the cost bounded.
  const std::size_t stride = (sample.size() + 511) / 512;
  std::vector<double> base;
  for (std::size_t i = 0; i < sample.size(); i += stride) base.push_back(sample[i]);
  const double center = *median(base);
  std::mt19937_64 random(20240917);
  std::vector<double> shifts, draw(base.size());
  for (int d = 0; d < draws; ++d) {
    for (double& value : draw) value = base[random() % base.size()];
    shifts.push_back(std::abs(*median(draw) - center));
  }
  return quantile(shifts, 0.9);
}

std::optional<Difference> median_difference(std::span<const double> before, std::span<const double> after, int draws) {
  if (before.size() < 4 || after.size() < 4) return std::nullopt;
  std::mt19937_64 random(20240917);
  const auto median_of_draw = [&](std::span<const double> sample) {
    std::vector<double> draw(sample.size());
    for (double& value : draw) value = sample[random() % sample.size()];
    return *median(draw);
  };
  std::vector<double> shifts;
  for (int d = 0; d < draws; ++d) {
    const double was = median_of_draw(before);
    shifts.push_back(median_of_draw(after) - was);
  }
  return Difference{*median(after) - *median(before), *quantile(shifts, 0.025), *quantile(shifts, 0.975)};
}

std::optional<Share> binomial_share(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || part < 0 || part > whole) return std::nullopt;
  constexpr double kZ = 1.959964;  // two-sided 5 %
  const auto n = static_cast<double>(whole);
  const double p = static_cast<double>(part) / n, z2 = kZ * kZ;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
  return Share{p, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace gradsync
