// What a collective costs on a measured fabric. Pure; never says more than four times outside of what was measured.
//
// Bytes are those of the sweep: the whole vector, however it is cut (as nccl-tests counts).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/model/inputs.h"

namespace gradsync {

struct FabricCost {
  double us = 0, startup_us = 0;
  double startup_share() const { return us > 0 ? startup_us / us : 0; }
};

// Absent: the operation was not measured, or bytes are more than four times outside of the sizes that were.
std::optional<FabricCost> fabric_cost(const FabricFit& fit, const std::string& operation, double bytes);
std::optional<double> cost_us(const FabricFit& fit, const std::string& operation, double bytes);

// The word of a sweep for floats of 32 and of 16 bits.
inline constexpr const char *kFloat = "float", *kHalf = "half";

// As fabric_cost(), by the curve of one type alone.
std::optional<FabricCost> fabric_cost_of(const FabricFit& fit, const std::string& type, const std::string& operation,
                                         double bytes);
// The same fabric, whose operations stand for messages of one type wherever that was measured.
FabricFit preferring(const FabricFit& fit, const std::string& type);
// Fills `operations` from `types`: floats before all others.
void choose_curves(FabricFit& fit);

// The segment that speaks for `bytes`, by the same rule.
const FabricSegment* segment_at(const std::vector<FabricSegment>& segments, double bytes);

// Bytes of the sweep for a message of a job, which counts what one rank hands in: of an all-gather or reduce-scatter
// the part per rank. The name of its operation as the sweep calls it (send, recv: send_recv).
double swept_bytes(const std::string& operation, double job_bytes, int ranks);
std::string swept_operation(const std::string& operation);

// The start-up part of a job's message; absent where the fabric does not tell.
std::optional<double> startup_us(const FabricFit& fit, const std::string& operation, double job_bytes);

// From series `fabric_fit`: each operation's and type's curve without load, the live sweep before logs; only fits that
// are at most 10 % off. What stands for an operation: a live sweep's before a log's, then float before other types.
// Nothing when there is none. Fingerprint and backend stay empty.
std::optional<FabricFit> fabric_fit_of(const SeriesSet& series);

// The fit to use: what was given, else the report's own.
std::optional<FabricFit> fabric_of(const Inputs& inputs, const SeriesSet& concluded);

}  // namespace gradsync
