// One line of `perf script`, of the tracepoints that scheduling and interrupts are seen by:
//
//    kworker/1:1H-kb    44 [001]  1947.020279:       sched:sched_switch: prev_comm=kworker/1:1H prev_pid=44 … ==> …
//    name               thread    time        (count) system:event:      fields
//
// Both spellings of the fields are read: "prev_comm=a prev_pid=1 …" and "a:1 [120] S ==> b:2 [120]". Pure; the views
// point into the line.
#pragma once

#include <optional>
#include <string_view>

#include "src/hosttext/thread_waits.h"
#include "src/model/event.h"

namespace gradsync {

enum class Tracepoint {
  other,  // of another kind, or its fields cannot be read
  sched_switch,
  wakeup,  // sched_waking, sched_wakeup, sched_wakeup_new
  irq_entry,
  irq_exit,
  softirq_entry,
  softirq_exit,
};

struct ScriptLine {
  Nanoseconds at = 0;
  int cpu = 0;
  std::string_view event;  // "sched:sched_switch"
  Tracepoint kind = Tracepoint::other;
  SchedSwitch change;           // sched_switch
  std::int64_t tid = 0;         // wakeup
  std::string_view name;        // wakeup: of the thread; irq_entry: the handler's
  std::string_view irq;         // irq_*: the number; softirq_*: "NET_RX"
  bool fields_unknown = false;  // one of these tracepoints, but not as it is known here
};

// Nothing for a line that is not an event: comments, call chains, blank lines.
std::optional<ScriptLine> parse_script_line(std::string_view line);

// "PERF_RECORD_LOST lost 12", "Processed 100 events and lost 3 chunks!" → 12, 3.
std::optional<std::int64_t> lost_by_perf(std::string_view line);

}  // namespace gradsync
