// Who waited for a CPU, how long and behind whom; which interrupts took time from whom. Fed with the events of all CPUs in
// the order of time; memory is bounded. Pure, but for the question to which process a thread belongs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/host/trace_decoder.h"
#include "collectors/host/trace_tier.h"
#include "src/hosttext/irq_times.h"
#include "src/hosttext/thread_waits.h"
#include "src/model/event.h"

namespace gradsync {

// Of one thread, beside what ThreadWait has.
struct WaitTails {
  Nanoseconds longest = 0, longest_at = 0;  // after a wake-up, and when it ended
  std::vector<float> preempted_us;
  Nanoseconds preempted_longest = 0, preempted_longest_at = 0;
};

class SchedAccount {
 public:
  // The process of a thread; 0 = none that matters: nothing of it is held.
  using ProcessOf = std::function<std::int64_t(std::int64_t tid)>;

  explicit SchedAccount(ProcessOf process_of);
  void add(const TraceEvent& event);
  void lose_sight();

  const ThreadWaits& waits() const { return waits_; }
  const IrqTimes& irqs() const { return irqs_; }
  const WaitTails* tails(std::int64_t tid) const;
  const std::vector<HeldUp>& held_up() const { return held_; }
  std::int64_t held_dropped() const { return held_dropped_; }

 private:
  struct Handler {
    bool open = false;
    Nanoseconds since = 0;
    std::int64_t current = 0;
    std::string name;
  };
  struct Cpu {
    Handler hard, soft;
  };
  void heard(const WaitSeen& wait);
  void hold(HeldUp held);
  static void enter(Handler& handler, const TraceEvent& event, std::string_view name);
  void leave(Handler& handler, const TraceEvent& event, Kind kind);

  ProcessOf process_of_;
  ThreadWaits waits_;
  IrqTimes irqs_;
  std::map<int, Cpu> cpus_;
  std::unordered_map<std::int64_t, WaitTails> tails_;
  std::size_t kept_ = 0;
  std::vector<HeldUp> held_;
  std::int64_t held_dropped_ = 0;
  const TraceEvent* now_ = nullptr;  // the switch that is being looked at
};

}  // namespace gradsync
