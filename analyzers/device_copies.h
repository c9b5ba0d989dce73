// Copies between device and host after a step's backward began: what feeds the model is over by then, so they are the
// gradients'. How much of their time has no kernel beside it. That they stand behind backward alone says nothing: beside
// the optimiser's kernels they cost nothing either.
#pragma once

#include <string_view>
#include <vector>

#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

// A row for each step whose device was recorded: rank, step, deep, copy_ns (of those begun since
// backward began, united), alone_ns (the part with no kernel beside it), to_host_bytes, to_device_bytes, time_ns.
inline constexpr std::string_view kDeviceCopyTable = "device_copies";

class DeviceCopies {
 public:
  explicit DeviceCopies(const RankTimeline& rank) : rank_(rank) {}
  void add(const StepSpan& step, const StepActivity& seen);
  void write(Summary& summary) const;

 private:
  Nanoseconds backward_start(RankTimeline::Range range) const;

  const RankTimeline& rank_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace gradsync
