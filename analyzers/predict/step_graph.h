// A step of one rank as what must happen before what, small enough to be replayed thousands of times.
//
//   main lane   ── stage ──●── stage ──●── stage ──●── stage ──● … ──● end
//                        bucket      issue       issue       join
//   exchanges                          └─▶ wait │ transfer ─┐ │
//                                                └ behind ─▶┴─┘ decode, in order
//
// Stages hold the time of each class between two anchors, in the order of the step. An exchange (a collective) begins
// when it was issued, its last peer has arrived and the one before it in its group is over. A join waits for all that was
// issued up to its exchange. What a join waited for is not part of a stage: replaying finds it again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzers/classes.h"

namespace gradsync {

using ClassTimes = std::array<double, kStepClasses>;  // ns

enum class AnchorKind : std::int64_t { bucket, issue, join, end };
struct Anchor {
  AnchorKind kind = AnchorKind::end;
  std::int64_t index = -1;  // of the bucket; of the exchange
};

struct Stage {
  ClassTimes ns{};
  Anchor anchor;
};

struct Exchange {
  std::string operation, group, dtype;
  std::int64_t bytes = 0;    // what this rank hands in
  std::int64_t bucket = -1;  // whose gradient it carries; -1: not known
  bool compressed = false;
  bool seen = true;  // false: the framework's own, whose time is the fabric's price
  double wait_ns = 0, transfer_ns = 0, decode_ns = 0;
};

struct StepGraph {
  std::vector<Stage> stages;  // the last one's anchor is the end
  std::vector<Exchange> exchanges;
  std::vector<std::int64_t> bucket_bytes;

  double& at(std::size_t stage, StepClass what) { return stages[stage].ns[static_cast<std::size_t>(what)]; }
  double total(StepClass what) const;
  double total_of(bool compressed) const;  // transfer of exchanges
};

struct Replayed {
  double step_ns = 0;
  double blocked_ns = 0;     // at joins
  double overlapped_ns = 0;  // of exchanges, while the main lane did something
  ClassTimes classes{};      // of the stages; comm holds blocked_ns besides
};
Replayed replay(const StepGraph& graph);

// The same anchors in the same order.
bool same_shape(const StepGraph& a, const StepGraph& b);

}  // namespace gradsync
