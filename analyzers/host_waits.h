// What a trace of the host says of one step: when threads of the rank could run and had no CPU, or were interrupted.
//
//   step       │ forward ▶ backward ▶│ waits for the collective │ optimizer │
//   training   │ run │wait│ run       │ sleeps                   │
//   communic.  │ sleeps              │ run │ wait      │ run    │      these waits lengthen the exposed communication
//   held up    │     ████            │     ███████████          │      and become the class sched_irq
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzers/step_activity.h"
#include "src/model/analyzer.h"

namespace gradsync {

// A row for each step that a trace window covers as a whole: rank, step, exposed_ns (communication with nothing useful
// beside it), explained_ns (its part in which a thread that drives it was held up), of that irq_ns, quota_ns (nobody
// else had the CPU), own_ns (another thread of the same process had it); training_ns (the training thread held up
// elsewhere), time_ns, wakeups (0: only waits after preemptions are known, so that all of these are lower bounds),
// classed (1: the step has the class sched_irq).
inline constexpr std::string_view kHostJoinTable = "host_join";
// Who had the CPU meanwhile: rank, thread, by, ns.
inline constexpr std::string_view kHeldUpTable = "held_up";

// Threads of the rank's own process, as far as they are known: rank, tid. One job's ranks are its threads together.
inline constexpr std::string_view kJobThreadTable = "job_threads";

// When a trace of the host of that name ran (docs/events.md).
IntervalSet host_windows(const RankTimeline& rank, std::string_view trace);
// Whether one of the set's intervals holds the whole of `window`.
bool holds(const IntervalSet& windows, Interval window);

// "python3:2341" → 2341; -1 when the text ends in no number.
std::int64_t tid_of(std::string_view thread);

// Threads of a rank that its communication does not wait for.
bool is_bystander(std::string_view thread_name);

class HostWaits {
 public:
  explicit HostWaits(const RankTimeline& rank);

  // Takes the time in which threads were held up out of what the step spent, and makes it the class sched_irq: of a
  // step judged by the host out of what it computed and communicated; of one judged by the device out of exposed
  // communication and, where it was the training thread, out of the time in which the device had nothing to do. Where
  // every plain step is covered, since means over some steps of each kind would mean nothing; steps that no window
  // covers stay as they are.
  void take(const StepSpan& step, StepActivity& seen);
  void write(Summary& summary) const;

 private:
  struct Stretch {
    Interval interval;
    const Event* event;
    bool training;
  };
  std::vector<Stretch> stretches(Interval window) const;
  void charge(const std::vector<Stretch>& stretches, const IntervalSet& exposed, std::vector<Cell>& row);
  void name(const std::vector<Stretch>& stretches, const IntervalSet& exposed);

  const RankTimeline& rank_;
  IntervalSet windows_;
  std::int64_t training_tid_ = -1;
  bool wakeups_ = true;  // waits after wake-ups are known, too
  bool all_traced_ = false;
  Nanoseconds longest_ = 0;
  std::vector<std::vector<Cell>> rows_;
  std::map<std::pair<std::string, std::string>, Nanoseconds> by_;  // thread, who had the CPU
};

}  // namespace gradsync
