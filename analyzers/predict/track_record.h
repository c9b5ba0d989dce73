// How far predictions of one kind of change were from what was measured, and what that makes of the next one. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "analyzers/predict/draws.h"

namespace gradsync {

inline constexpr std::size_t kFewestRecorded = 5;
// Until then the gate's own tolerance: a replay that may be 5 % off the other half of its steps cannot promise less.
inline constexpr double kPriorErrorShare = 0.05;

// |predicted − measured| ÷ step (the longer, before or after) that the next change of the kind stays below in nine of ten cases: of n errors the
// ⌈0.9 (n + 1)⌉-th smallest (split conformal prediction), of fewer than nine the largest, which holds n of n + 1. With
// fewer than five errors the prior, or the largest of them where that is more.
double error_share(std::span<const double> errors);

// Reaches at least error_ms to both sides of its median, upwards never above the remedy's cap; the probability is no
// better than that of a normal distribution with such an interval.
Prediction widened(const Prediction& prediction, double error_ms);

// P ≥ 0.9 and 2 % of the step.
bool worth_trying(const Prediction& prediction, double step_ms);

}  // namespace gradsync
