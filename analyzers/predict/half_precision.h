// The gradient in 16 bits: what its all-reduce takes on this fabric, and what that makes of a step. Pure.
//
// A device adds halves as fast as it sends them. A CPU has no instruction for it and adds them one by one, which may take
// longer than sending them: then only a curve of halves tells the price, not that of floats of as many bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzers/fabric_cost.h"
#include "analyzers/load_cost.h"
#include "analyzers/predict/remedies.h"

namespace gradsync {

inline constexpr double kHalfSumNs = 11;  // an element of a gradient, by Gloo on an AMD EPYC

// By the curve of halves as far as it reaches, else by that of floats. Nothing: neither reaches, or of an all-reduce on a
// CPU the curve of floats is faster than adding.
std::optional<FabricCost> half_cost(const FabricFit& fit, const std::string& operation, double bytes, bool on_device);

// There are dense all-reduces that the fabric was measured for as floats, and as halves nobody can tell.
bool lacks_halves(const Job& job, const std::vector<StepGraph>& ranks, const FabricFit* fit);

// What the hook does before it sends: casts, and divides by the ranks.
double half_coding_ns(const LoadCurve& cast, double elements, bool on_device, double level = 0.5);

// Dense all-reduces in halves: cast before, sent, widened behind. `cast`: the reference load cast16.
std::optional<StepGraph> halved(const StepGraph& graph, const Job& job, const FabricFit* fit, const LoadCurve& cast,
                                const Draw& draw);
// The most that halving saves: of a job that compresses what removing that can save, and what the dense exchange exposes.
double cap_of_halves(const Job& job, const FabricFit* fit, const StepGraph& graph, const Replayed& today);

}  // namespace gradsync
