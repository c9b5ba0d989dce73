// The table of `perf sched latency`:
//
//   Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start  | …
//   stress-ng-cpu:(4)     |   2898.421 ms |     1036 | avg:   4.927 ms | max:  36.002 ms | max start: …
//   kworker/1:1H-kb:44    |      0.797 ms |        4 | avg:   0.171 ms | max:   0.673 ms | max at: …        (older)
//   TOTAL:                |   4022.463 ms |     6703 |
//   INFO: 1.769% context switch bugs (68 out of 3844)
//
// Its delays hold waits after wake-ups and after preemptions together. perf counts a wake-up by sched_wakeup only, but
// since 5.x `perf sched record` stores sched_waking: then all who were never preempted show 0.000. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/hosttext/thread_waits.h"

namespace gradsync {

struct PerfLatency {
  std::vector<ThreadWait> tasks;  // in the table's order
  std::int64_t zero_tasks = 0;    // switched, and no delay was ever seen of them
  std::int64_t broken_rows = 0;
  std::vector<std::string> infos;  // what perf itself says of its data: "1.769% context switch bugs (68 out of 3844)"
  std::int64_t lost_events = 0;

  // Most of the tasks have no delay at all: the record had no sched_wakeup.
  bool without_wakeups() const { return zero_tasks > 0 && zero_tasks * 2 >= static_cast<std::int64_t>(tasks.size()); }
};

bool is_latency_header(std::string_view line);

class PerfLatencyParser {
 public:
  void add_line(std::string_view line);
  const PerfLatency& table() const { return table_; }

 private:
  PerfLatency table_;
};

}  // namespace gradsync
