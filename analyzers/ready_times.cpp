#include "analyzers/ready_times.h"

#include <algorithm>

namespace gradsync {

ReadyTimes::ReadyTimes(const RankTimeline& rank, const GradientPath& path, Summary& summary)
    : rank_(rank),
      path_(path),
      table_(summary.table(kReadyTable, {"rank", "step", "time_ns"})),
      gpu_(rank.fact("device") == "cuda") {}

void ReadyTimes::add(const StepSpan& step, const StepActivity& seen) {
  // Steps that were found by their repetition are not numbered alike on all ranks.
  if (rank_.step_source == StepSource::repetition) return;
  if (seen.on_device && !rank_.shared.empty()) return;  // what was matched tells more than a step's first kernel
  const Nanoseconds ready = ready_time(seen);
  if (ready > 0) table_.rows.push_back({std::int64_t{rank_.rank}, step.number, std::int64_t{ready}});
}

// On a device the collective's own start. The host of a GPU job runs ahead of it: when it has nothing left to issue
// says nothing about when the gradients are there.
Nanoseconds ReadyTimes::ready_time(const StepActivity& seen) const {
  const auto first_after = [&](Nanoseconds from, const auto& counts) {
    Nanoseconds first = 0;
    for (const Event* event : seen.collectives)
      if (event->start >= from && counts(*event) && (first == 0 || event->start < first)) first = event->start;
    return first;
  };
  if (seen.on_device) return first_after(0, [](const Event& event) { return event.on_stream(); });
  if (gpu_) return 0;
  const bool waits_in_backward = path_.framework_syncs || path_.place == Place::hook;
  if (waits_in_backward && seen.compute_end > 0) return seen.compute_end;
  return first_after(seen.backward_start, [](const Event&) { return true; });
}

}  // namespace gradsync
