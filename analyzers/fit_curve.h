// The cost of one operation as a function of its size: t = alpha + bytes * beta, in up to three segments of sizes (what
// libraries switch between: protocols, algorithms). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzers/fabric_curves.h"

namespace gradsync {

struct Estimate {
  double value = 0, p05 = 0, p95 = 0;  // of 1000 residual bootstrap draws with a fixed seed
};

struct SegmentFit {
  std::int64_t from_bytes = 0, to_bytes = 0;
  Estimate alpha_us, beta_us_per_byte;
  double at(double bytes) const { return alpha_us.value + beta_us_per_byte.value * bytes; }
};

struct CurveFit {
  std::vector<SegmentFit> segments;  // not joined: a switch may jump
  double mape_percent = 0;           // mean of |fit - time| / time over sizes
  double worst_percent = 0;          // the largest of them
  double r2_log = 0;                 // in the logarithm of time
  std::string location;              // p50; p10 where the spread is wide: what the fabric can do, not what the host did
  std::int64_t n = 0;                // calls behind it
};

inline constexpr double kMostMapePercent = 10;  // a fit that is further off describes nothing

// Nothing for fewer than three sizes.
std::optional<CurveFit> fit_curve(const std::vector<SizeSample>& sizes);

}  // namespace gradsync
