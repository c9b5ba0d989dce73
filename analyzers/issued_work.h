// What a rank's host issued, in that order: kernels, copies to the host and collectives; without a device, operators.
// Each with the thread that issued it and what that thread was doing then.
//
// The order of issue is the order of the data: streams run beside each other, and their stamps need not tell which of
// two waited for the other. A kernel whose call is not in the trace stands where it ran.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzers/name_kinds.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

enum class Doing : std::uint8_t {
  unknown,   // outside of everything that the trace names
  model,     // forward, or a node of backward
  gradient,  // a communication hook, or between backward and the optimiser
  stepping,  // the optimiser
};

struct Work {
  const Event* event = nullptr;
  Nanoseconds issued = 0;
  const NameKind* kind = nullptr;  // by its own name, else by the operator around it; lives as long as the NameKinds
  std::optional<LaneId> thread;    // that issued it
  std::int32_t step = -1;          // index into the rank's steps
  NameId asked = NameId::none;     // range "nccl:all_to_all" around the call of a collective
  Doing doing = Doing::unknown;
  bool collective() const { return event->kind == Kind::collective; }
};

struct IssuedWork {
  std::vector<Work> list;
  bool on_device = false;
};

// Empty when the profiler saw no collective.
IssuedWork issued_work(const RankTimeline& rank, NameKinds& kinds);

}  // namespace gradsync
