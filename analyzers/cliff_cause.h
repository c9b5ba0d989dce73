// Why bandwidth falls between two sizes, where something else than the network is known to change there.
#pragma once

#include <cstdint>
#include <string>

#include "analyzers/fabric_curves.h"

namespace gradsync {

struct Cause {
  std::string kind = "unknown";  // tuning, cache; fabric: known to be neither; unknown
  std::string text{};            // in words; empty when there is nothing to say
};

// Tuning: NCCL's log (series nccl_choices) names different algorithms or protocols for the two sizes. Cache: a
// host-staged backend, and between the sizes its buffers (one to two times the message; for a cache that ranks share,
// those of all ranks on the host) outgrow host.l2_bytes or host.l3_bytes.
Cause cause_of(const Inputs& inputs, const FabricCurve& curve, std::int64_t from_bytes, std::int64_t to_bytes);

}  // namespace gradsync
