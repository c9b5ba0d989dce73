// Order statistics, resampling: all of the project's statistics live here, once. Pure; fixed seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gradsync {

// Quantile by linear interpolation between order statistics (Hyndman & Fan type 7); q in [0, 1].
// Nothing for an empty sample. The sample is copied.
std::optional<double> quantile(std::span<const double> sample, double q);
std::optional<double> median(std::span<const double> sample);

// n, p10, p50, p90 and the extremes of a sample, sorted once.
struct Spread {
  std::int64_t n = 0;
  double minimum = 0, p10 = 0, p50 = 0, p90 = 0, maximum = 0;
};
std::optional<Spread> spread(std::span<const double> sample);

// Smallest shift of the median that 90 % of bootstrap draws of this sample would have shown: the 90 % quantile of
// |median(resample) - median(sample)| over `draws` resamples with a fixed seed (Efron's percentile bootstrap).
// Nothing below 4 observations.
std::optional<double> median_resolution(std::span<const double> sample, int draws = 200);

// How far the median of `after` lies from that of `before`, and where 95 % of bootstrap draws of both put it.
// An interval that holds zero shows no difference. Nothing below 4 observations each.
struct Difference {
  double value = 0, low = 0, high = 0;
};
std::optional<Difference> median_difference(std::span<const double> before, std::span<const double> after,
                                            int draws = 2000);

// A share, `part` of `whole` independent observations, and the interval that holds the true one in 95 % of the cases
// (Wilson's: also near 0 and 1, where the normal approximation leaves them). Nothing for no observation.
struct Share {
  double value = 0, low = 0, high = 0;
};
std::optional<Share> binomial_share(std::int64_t part, std::int64_t whole);

}  // namespace gradsync
