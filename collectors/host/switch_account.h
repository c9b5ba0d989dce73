// Preemption waits from the switches of the job's own threads: who was taken off a CPU while it could run, until it came
// back. Waits after wake-ups are not in such records. Fed in the order of time; memory is bounded. Pure.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/host/sched_account.h"
#include "collectors/host/trace_tier.h"
#include "src/model/series.h"

namespace gradsync {

struct SwitchRecord {
  enum class Kind { in, out, preempted };
  Nanoseconds at = 0;
  std::int64_t pid = 0, tid = 0;
  int cpu = 0;
  Kind kind = Kind::in;
};

struct ThreadPreemptions {
  std::int64_t pid = 0;
  std::vector<float> waits_us;
  Nanoseconds longest = 0, longest_at = 0;  // and when it ended
  std::map<std::int64_t, Nanoseconds> by;   // threads of the job; 0 = other programs, or a quota
};

class SwitchAccount {
 public:
  static constexpr std::size_t kMostThreads = 16384, kMostWaits = 2'000'000;
  static constexpr const char* kOthers = "other programs";

  void add(const SwitchRecord& record);
  void lose_sight();  // records are missing: no wait spans this
  // A thread is called as the one that started it until it takes another name. CPUs tell of both in any order.
  void born(std::int64_t tid, std::int64_t parent) { parents_[tid] = parent; }
  void rename(std::int64_t tid, std::string name) { names_[tid] = std::move(name); }
  std::string name_of(std::int64_t tid) const;  // "python3:812"

  const std::map<std::int64_t, ThreadPreemptions>& threads() const { return threads_; }
  // Waits of kLeastWait and longer.
  std::vector<HeldUp> held_up() const;
  std::int64_t dropped() const { return dropped_; }

  // The same beside each thread's sums, which other sources tell; whoever has none comes last.
  std::vector<ThreadSeen> beside(std::vector<ThreadWait> sums) const;
  // The series `preemptions`; moments are seconds after `began`.
  Series series(Nanoseconds began) const;

 private:
  struct Waiting {
    Nanoseconds since = 0;
    int cpu = 0;
    std::int64_t by = 0;
  };
  struct Held {
    std::int64_t pid, tid, by;
    int cpu;
    Nanoseconds start, end;
  };
  ThreadSeen seen(std::int64_t tid, ThreadWait sums) const;
  void came_back(const SwitchRecord& record, const Waiting& wait);

  std::map<std::int64_t, ThreadPreemptions> threads_;
  std::unordered_map<std::int64_t, Waiting> waiting_;                // by thread
  std::unordered_map<int, std::vector<std::int64_t>> preempted_on_;  // by CPU: who waits to hear who came instead
  std::unordered_map<std::int64_t, std::string> names_;
  std::unordered_map<std::int64_t, std::int64_t> parents_;
  std::vector<Held> held_;
  std::size_t waits_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace gradsync
