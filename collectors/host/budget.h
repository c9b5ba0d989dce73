// What a collector of the host may cost: the option `budget` of the run.
#pragma once

#include <cstdlib>

#include "src/model/collector.h"

namespace gradsync {

// In percent of all CPUs together, for each collector; 0.5 where nobody said.
inline double budget_percent(const CollectorContext& context) {
  const auto told = context.options.find("budget");
  return told == context.options.end() ? 0.5 : std::strtod(told->second.c_str(), nullptr);
}

}  // namespace gradsync
