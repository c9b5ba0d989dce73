#include "analyzers/annealing.h"

#include <algorithm>
#include <cmath>

namespace gradsync {
namespace {

double remaining(double progress) { return 1 - std::clamp(progress, 0.0, 1.0); }

}  // namespace

double quoted_density(double start_percent, double progress) {
  return start_percent * remaining(progress) * remaining(progress);
}

double annealed_density(double start_percent, double end_percent, double progress, double power) {
  return end_percent + (start_percent - end_percent) * std::pow(remaining(progress), power);
}

}  // namespace gradsync
