// The graph of a step that was observed.
#pragma once

#include "analyzers/predict/step_graph.h"
#include "analyzers/step_activity.h"

namespace gradsync {

// `claimed`: one class for every nanosecond of the step. Replaying it gives the step's own length. Where the framework's
// all-reduces cannot be seen they are exchanges without a time (price_unseen), and what waits for them stays in its stage.
StepGraph graph_of(const RankTimeline& rank, const StepSpan& step, const StepActivity& seen, const Activity& claimed,
                   const GradientPath& path);

// Gives exchanges of some steps that were not seen their times: the fabric's price, all scaled by one factor so that the
// steps keep their mean length. The factor, or 0 where no factor between 1/4 and 4 does: then the graphs are as before.
double price_unseen(const FabricFit& fit, std::vector<StepGraph>& graphs);

// The framework's buckets: as it lists them, else cut from the gradient as it does by default, in launch order.
std::vector<std::int64_t> framework_buckets(const RankTimeline& rank, const GradientPath& path);

}  // namespace gradsync
