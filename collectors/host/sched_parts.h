// What a scheduler trace hands over: the series `sched` and `preemptions`, times of interrupts, how much was seen, and
// the stretches in which threads of the job were held up.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "collectors/host/sched_trace.h"
#include "src/model/collector.h"

namespace gradsync {

// Of the runs of these threads that followed a sleep: how many wake-ups were seen, in percent. 100 when none slept.
double wakeups_seen_percent(const std::vector<ThreadWait>& threads);

// Below this a latency is not printed and the join is refused.
inline constexpr double kLeastCoverage = 95;

// After stop(). Of interrupts alone: their times, where enough of them was seen.
void add_irq_parts(const SchedTrace& trace, RecordingParts& parts);
void add_sched_parts(const SchedTrace& trace, RecordingParts& parts);
// The fact `sched.cross_check`, and a warning where the two ways differ by more than 15 %. Pure.
void add_cross_check(const CrossCheck& check, const std::string& tier, RecordingParts& parts);
// Nothing when coverage or losses forbid the join.
void write_held_up(const SchedTrace& trace, EventSink& events);

// The stretches, and when they were watched for: windows of the name `trace` (docs/events.md).
void write_stretches(const std::vector<HeldUp>& stretches, std::string_view trace,
                     const std::vector<std::pair<Nanoseconds, Nanoseconds>>& windows, EventSink& events);

}  // namespace gradsync
