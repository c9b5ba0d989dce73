// The classes a nanosecond of the step can be spent on, and the one place that decides their order.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/timeline/intervals.h"

namespace gradsync {

// In the order in which a nanosecond is claimed. The communication classes are claimed together (`comm`) on one
// rank and split when the peers are known.
enum class StepClass : std::size_t {
  compute,
  compress,
  decompress,
  comm,
  memcpy,
  host_sync,
  launch,
  sched_irq,
  data,
  idle,
};
inline constexpr std::size_t kStepClasses = 10;

// Names as in the report; `comm` appears there as comm_peer_wait, comm_startup, comm_transfer, comm_unsplit.
std::string_view class_name(StepClass step_class);

// As the report names them: the class comm in its parts.
inline const std::vector<std::string> kReportClasses{
    "compute", "compress",  "decompress", "comm_peer_wait", "comm_startup", "comm_transfer", "comm_unsplit",
    "memcpy",  "host_sync", "launch",     "sched_irq",      "data",         "idle"};

// What went on in a step; the sets may overlap each other and reach beyond the step.
struct Activity {
  std::array<IntervalSet, kStepClasses> of;  // idle is ignored: it is what remains
  IntervalSet& operator[](StepClass step_class) { return of[static_cast<std::size_t>(step_class)]; }
  const IntervalSet& operator[](StepClass step_class) const { return of[static_cast<std::size_t>(step_class)]; }
};

// Gives every nanosecond of `step` to the first class that claims it: the result is disjoint and covers the step.
Activity claim(const Activity& activity, Interval step);

}  // namespace gradsync
