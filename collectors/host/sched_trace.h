// Tier B: the scheduler's and interrupts' tracepoints of all CPUs through perf rings, put in order and accounted by a
// thread of ours. It measures how much it sees (coverage) and what it costs, and pauses when it costs too much.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "collectors/host/perf_ring.h"
#include "collectors/host/sched_account.h"

namespace gradsync {

struct TraceOptions {
  std::filesystem::path root = "/";
  std::int64_t ancestor = 0;  // the job: its descendants; 0 = every thread of the machine
  bool with_ancestor = false;
  double budget_percent = 0;  // of all CPUs together; 0 = no bound
};

// What came and what was seen of it, by tracepoint.
struct TraceCoverage {
  std::string event;
  std::uint64_t counted = 0, seen = 0, lost = 0;
  double percent() const;  // (seen + lost) of counted: below 100 the ring misses some without saying so
};

// The same waits by two ways: Σ of the trace against /proc schedstat, of threads that lived through the window.
struct CrossCheck {
  double traced_ms = 0, schedstat_ms = 0;
  int threads = 0;
  // Absent below 50 ms, where the ends of the window decide.
  std::optional<double> difference_percent() const;
};

class SchedTrace {
 public:
  static Result<std::unique_ptr<SchedTrace>> open(const TraceOptions& options);
  // Nothing when it can be opened here, else why not.
  static std::optional<Error> probe(const std::filesystem::path& root);
  ~SchedTrace();

  Result<void> start();
  void stop();

  // From any thread; a copy of what is known so far, of the job's threads.
  std::vector<ThreadWait> threads() const;
  std::optional<WaitTails> tails(std::int64_t tid) const;
  std::vector<IrqTime> irqs() const;
  double seconds() const;  // traced so far, pauses left out

  // After stop.
  const std::vector<TraceCoverage>& coverage() const { return coverage_; }
  double coverage_percent(std::string_view part) const;  // the worst of the tracepoints whose names begin so
  std::vector<HeldUp> held_up() const;
  std::int64_t held_dropped() const { return account_.held_dropped(); }
  const std::vector<std::pair<Nanoseconds, Nanoseconds>>& windows() const { return windows_; }
  CrossCheck cross_check() const;
  Nanoseconds reader_cpu() const { return reader_cpu_; }
  std::uint64_t events() const { return events_; }

 private:
  struct Checked {
    Nanoseconds first_stat = 0, last_stat = 0, first_trace = 0, last_trace = 0;
  };
  SchedTrace(TraceOptions options, TraceDecoder decoder);
  void run();
  void drain();
  void count();
  void process_until(Nanoseconds limit);
  void look_at_job();
  void keep_budget(Nanoseconds now);
  void switch_on(Nanoseconds now);
  void switch_off(Nanoseconds now);
  bool adopt(std::int64_t pid);
  void adopt_newborn(const TraceEvent& event);
  std::int64_t process_of(std::int64_t tid);
  bool of_job(std::int64_t tid) const;

  TraceOptions options_;
  TraceDecoder decoder_;
  std::vector<PerfRing> rings_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  FileDescriptor wake_;       // tells the reader that it is to stop
  mutable std::mutex mutex_;  // account_, pids_, processes_, windows_
  SchedAccount account_;
  std::set<std::int64_t> pids_;
  std::unordered_map<std::int64_t, std::int64_t> processes_;  // thread → process
  std::unordered_map<std::int64_t, Checked> checked_;
  std::vector<TraceEvent> pending_;
  std::vector<std::uint64_t> seen_;
  std::vector<TraceCoverage> coverage_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> windows_;
  bool on_ = false;
  Nanoseconds began_ = 0, reader_cpu_ = 0;
  Nanoseconds clock_offset_ = 0;  // of our time namespace: the kernel's stamps lack it
  std::uint64_t events_ = 0, lost_before_ = 0;
};

}  // namespace gradsync
