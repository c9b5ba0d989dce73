// How long threads waited for a CPU, from the scheduler's tracepoints in the order of time:
//
//    wakeup(T) ───────▶ switch to T                  a wake-up delay of T
//    switch from T, T still runnable ───▶ to T       a preemption wait of T, charged to whoever was switched in
//
// A pair of which one end lies outside the text is left out and counted. One thread; memory grows with the number of
// waits and is bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/model/event.h"

namespace gradsync {

// What is not known is NaN.
struct ThreadWait {
  std::string thread;      // "python3:2341"; "stress-ng-cpu:(4)" where four threads of a name are one row
  std::int64_t count = 0;  // delays behind the quantiles
  double p50_us, p99_us, max_us, mean_us;
  double migrations;
  std::string preempted_by;  // charged with the longest preemption waits; empty = nobody, or not known
  double wait_us;  // all time runnable without a CPU; not known, as the next, when switches are missing in the text
  double run_us;
  double unseen;          // times it ran after sleeping without a wake-up in the text
  std::int64_t tid = -1;  // -1: not known, or several threads
};
ThreadWait unknown_wait(std::string thread);  // every number NaN

// Quantiles, largest and mean of `delays_us` into `wait`; the sample is sorted.
void summarise_delays(std::vector<float>& delays_us, ThreadWait& wait);

struct SchedSwitch {
  std::int64_t from = 0, to = 0;  // thread ids; 0 = idle
  std::string_view from_name, to_name;
  bool from_runnable = false;  // it was preempted, or yielded
  int cpu = 0;
};

// One wait that ended.
struct WaitSeen {
  std::int64_t tid = 0;
  std::string_view name;
  Nanoseconds since = 0, until = 0;
  bool preempted = false;  // else it waited after a wake-up
  std::int64_t by = 0;     // preempted: whom the CPU went to
  int cpu = 0;             // where it runs now
};

class ThreadWaits {
 public:
  // Calls `heard` at the end of every wait, in order.
  void listen(std::function<void(const WaitSeen&)> heard) { heard_ = std::move(heard); }
  Nanoseconds waited(std::int64_t tid) const;  // so far, in waits that ended
  std::string name_of(std::int64_t tid) const;
  void lose_sight();  // events are missing from here on: what threads do now is not known, so no wait spans it

  void wakeup(Nanoseconds at, std::int64_t tid, std::string_view name);
  void switched(Nanoseconds at, const SchedSwitch& change);

  std::vector<ThreadWait> all() const;  // threads that ran or waited, the longest wait first

  std::int64_t paired() const { return paired_; }    // wake-up delays
  std::int64_t unseen() const { return unseen_; }    // runs after a sleep without a wake-up in the text
  std::int64_t edges() const { return edges_; }      // began before the text
  std::int64_t gaps() const;                         // switches that follow one that the text lacks
  std::int64_t unfinished() const;                   // still waiting at its end
  std::int64_t dropped() const { return dropped_; }  // of more threads or waits than are kept
  std::int64_t disordered() const { return disordered_; }

 private:
  enum class State { unknown, running, woken, preempted, asleep };
  struct Thread {
    std::string name;
    State state = State::unknown;
    Nanoseconds since = 0;
    int cpu = -1;
    std::int64_t by = 0;
    Nanoseconds woken_running = 0;  // a wake-up on another CPU overtook its own switch to sleep; 0 = none
    bool overtaken = false;         // woken by that
    std::vector<float> delays_us;   // after wake-ups
    Nanoseconds wait = 0, run = 0;
    std::int64_t migrations = 0, unseen = 0, runs = 0;
    std::int64_t gaps = 0;  // left a CPU without having come to it, or came to one twice
    std::map<std::int64_t, Nanoseconds> preempted_by;
  };
  Thread* find(std::int64_t tid, std::string_view name);
  bool in_order(Nanoseconds at);
  void put_on(Nanoseconds at, std::int64_t tid, Thread& thread, int cpu);
  void take_off(Nanoseconds at, Thread& thread, const SchedSwitch& change);

  std::function<void(const WaitSeen&)> heard_;
  std::unordered_map<std::int64_t, Thread> threads_;
  Nanoseconds last_ = 0;
  std::size_t kept_ = 0;
  std::int64_t paired_ = 0, unseen_ = 0, edges_ = 0, dropped_ = 0, disordered_ = 0;
};

}  // namespace gradsync
