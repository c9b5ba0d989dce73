// How this rank's gradients travel: through the framework's own all-reduce, a communication hook, or the user's
// code after backward or inside the optimiser step; compressed or not, and by what evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/inputs.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

enum class Place { none, hook, after_backward, in_step };
const char* to_string(Place place);

struct GradientPath {
  std::string framework;                       // ddp, …; empty = unknown
  bool framework_syncs = false;                // its own all-reduce runs (no hook, not inside no_sync)
  std::optional<std::int64_t> gradient_bytes;  // of the trained parameters, at full precision
  std::vector<std::int64_t> bucket_bytes;      // the framework's buckets, launch order
  Place place = Place::none;                   // where the user's own gradient code runs
  std::string compression = "none";  // none, topk, fp16, bf16, powersgd, quantized, custom; empty = cannot tell
  bool started = true;               // false: the hook still waits for its start step
  std::optional<std::int64_t> start_step;
  bool compresses() const { return started && !compression.empty() && compression != "none"; }
};

GradientPath find_gradient_path(const RankTimeline& rank, const Inputs& inputs);

// A collective that carries gradients: not a scalar (loss, norm), not a barrier.
bool carries_gradient(const RankTimeline& rank, const Event& event);

// A collective of a backend that works on the host (Gloo, MPI, UCC), which a profiler shows from issue to completion.
inline bool spans_on_host(const Event& collective) {
  return collective.source == Source::profiler && !collective.on_stream() && !collective.has(kFlagExtrapolated);
}

// Where a collective that Python issued belongs, by the ranges around it in its step.
Place place_of(const RankTimeline& rank, const StepSpan& step, const Event& event);

}  // namespace gradsync
