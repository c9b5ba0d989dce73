// 500 draws over what is not known exactly, and what a remedy saves in them. Pure; the seed is fixed.
#pragma once

#include <optional>

#include "analyzers/predict/remedies.h"

namespace gradsync {

inline constexpr int kDraws = 500;

struct Prediction {
  double p05 = 0, p50 = 0, p95 = 0;  // ms of a step
  double probability = 0;            // of saving anything
  double cap_ms = 0;
};

// Graphs of some steps of a rank, and how uncertain their mean length is.
struct RankStep {
  std::vector<StepGraph> graphs;
  double spread_ns = 0;  // standard error of the mean length
};

// `gamma_most`, `contention_most`: the worst slowdowns of computing under communication, and of communication under
// computing. All ranks see the same draw: they share the fabric and the machine.
struct Uncertainty {
  double gamma_most = 1, contention_most = 1;
};

// Mean over the ranks of the mean over a rank's steps (a step to which the remedy does not apply is as before; a rank most
// of whose steps it does not apply to says nothing), capped draw by draw: never more than the remedy's cap nor than step minus useful compute.
Prediction predict(const Remedy& remedy, const std::vector<RankStep>& ranks, const Uncertainty& uncertainty);

// The most it can save, in ms: by its transform under the kindest draw where it has one, else by its cap.
double bound_ms(const Remedy& remedy, const std::vector<RankStep>& ranks);

}  // namespace gradsync
