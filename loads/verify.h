// The verifier: whether a load is what it says (LoadTraits). One for every algorithm and device; tests and `bench` use it.
//
//   V1 error feedback loses nothing        V4 the error contracts             V7 low rank is reproduced
//   V2 the right entries are selected      V5 unbiased: mean of many draws    V8 histograms count everything
//   V3 round trips, tails, not finite      V6 closed forms on normal numbers  V9 the same again, on any number of threads
//
// (V10, that nothing is faster than memory, belongs to the measurement: bench.) Seeds are fixed: a check that held holds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loads/load.h"

namespace gradsync {

struct Check {
  std::string id;    // V1 … V9
  std::string what;  // "sum of gradients = sum of payloads + residual, 20 steps"
  bool passed = false;
  std::string measured;  // the numbers that decided: "largest difference 1e-7, allowed 3e-6"
};

using MakeLoad = std::function<std::unique_ptr<Load>(const LoadOptions&)>;

// Every check that applies, failed ones included. `options` are those of the load; ratio and feedback vary in checks.
std::vector<Check> verify(const MakeLoad& make, const LoadOptions& options);

}  // namespace gradsync
