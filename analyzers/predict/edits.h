// The steps that remedies are made of: take away, insert, price again. Pure.
#pragma once

#include <optional>

#include "analyzers/predict/remedies.h"

namespace gradsync {

// Takes up to `ns` of a class from all stages, in proportion to what they hold; with coding also the time in which it had
// no CPU. What was taken of the class.
double take(StepGraph& graph, StepClass what, double ns);
// As take(), from the stages in front of compressed exchanges, and behind what joins them: compression that ran as compute.
void take_coding(StepGraph& graph, double compress_ns, double decompress_ns);

// Compressing and reconstructing, with the time in which they had no CPU.
double coding_ns(const StepGraph& graph);

// Compression and its exchanges are gone; the dense all-reduce of each bucket takes their place where nothing else sends
// the gradient. Nothing: the fabric was not measured for these sizes.
std::optional<StepGraph> without_compression(const StepGraph& graph, const Job& job, const FabricFit* fit,
                                             const Draw& draw);

// Dense exchanges of the gradient, as they are or as without_compression() makes them.
std::optional<StepGraph> dense(const StepGraph& graph, const Job& job, const FabricFit* fit, const Draw& draw);

// The price of an exchange on a fabric, ns. Of halves by their own curve as far as it reaches, else by that of floats;
// nothing where that one cannot speak for them (predict/half_precision.h).
enum class Numbers { floats, halves_on_cpu, halves_on_device };
std::optional<double> price_ns(const FabricFit& fit, const std::string& operation, double bytes, const Draw& draw,
                               Numbers numbers = Numbers::floats);

// The time of an exchange that sends other bytes: the observed time and the difference of the prices.
std::optional<double> retimed_ns(const Exchange& exchange, double bytes, const FabricFit& fit, const Draw& draw,
                                 Numbers numbers = Numbers::floats);

// Each `together` consecutive buckets sent as one, when the last is ready.
std::optional<StepGraph> merged(const StepGraph& graph, int together, const FabricFit& fit, const Draw& draw);

// Bytes of the dense exchanges of the largest bucket.
double largest_dense(const StepGraph& graph);

}  // namespace gradsync
