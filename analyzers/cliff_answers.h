// What can be said about cliffs of each curve, in one of six answers and never a bare "none":
//   cliff           proved; with its cause where NCCL's log tells what it chose on either side
//   cache-capacity  proved, where the buffers of a host-staged backend outgrow a cache: not the network
//   no cliff        none of the size that would have been seen with power 0.9
//   undecided       neither of them yet
//   suspected       of a log, with the command that would prove it
//   unstable        the same call jumps: no size can be blamed
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzers/cliff_cause.h"
#include "analyzers/fabric_curves.h"

namespace gradsync {

struct CliffAnswer {
  std::string answer;
  std::string operation, type, load, source;                           // of the curve
  std::int64_t least = 0, most = 0;                                    // its sizes
  std::int64_t from = 0, to = 0, until = 0, n = 0;                     // columns of fabric_cliffs
  double drop = kNotMeasured, p05 = kNotMeasured, p95 = kNotMeasured;  // shares of the bandwidth
  double p_value = kNotMeasured;
  Cause cause;

  bool drops() const { return answer == "cliff" || answer == "suspected" || answer == "cache-capacity"; }
};

// At least one for each live curve, and for each log: the places and runs of one file, which should agree; files with
// one column each are runs of each other.
std::vector<CliffAnswer> cliff_answers(const Inputs& inputs);

// From the gravest to the best; of equal ones the larger drop first.
bool graver(const CliffAnswer& a, const CliffAnswer& b);

std::string sentence_of(const CliffAnswer& answer);

// The command that measures around the sizes in question often enough to decide.
std::string proof_of(const CliffAnswer& answer);

// "32 KiB … 64 KiB"
std::string span_of(const CliffAnswer& answer);

}  // namespace gradsync
