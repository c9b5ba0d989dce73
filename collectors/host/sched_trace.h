// The scheduler's and interrupts' tracepoints of all CPUs while a job runs, by the best tier that is allowed here. It
// measures how much it sees (coverage) and what it costs, and pauses when it costs too much.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "collectors/host/reader_thread.h"
#include "collectors/host/trace_tier.h"

namespace gradsync {

enum class TierChoice { best, bpf, rings };

struct TraceOptions {
  std::filesystem::path root = "/";
  std::int64_t ancestor = 0;  // the job: its descendants; 0 = every thread of the machine
  JobThreads::Ancestor itself = JobThreads::Ancestor::left_out;
  double budget_percent = 0;  // of all CPUs together; 0 = no bound
  TierChoice tier = TierChoice::best;
  TraceSubject subject = TraceSubject::scheduler_and_interrupts;
  std::size_t ring_bytes = 0;  // of tier A
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
  // Which tier can be opened here, and why none above it; the error when none can.
  struct Probed {
    std::string letter, why_not_above;
  };
  static Result<Probed> probe(const std::filesystem::path& root);
  ~SchedTrace();

  Result<void> start();
  void stop();

  TraceTier::Name tier() const { return tier_->name(); }
  const std::string& why_not_above() const { return why_not_above_; }  // "" for the best tier

  // From any thread; a copy of what is known so far, of the job's threads, the longest wait first.
  std::vector<ThreadSeen> threads() const;
  std::vector<IrqTime> irqs() const;
  double seconds() const;  // traced so far, pauses left out

  // After stop.
  const std::vector<TraceCoverage>& coverage() const { return coverage_; }
  double coverage_percent(std::string_view part) const;  // the worst of the tracepoints whose names begin so
  std::vector<HeldUp> held_up() const;
  std::int64_t held_dropped() const;
  std::uint64_t lost() const { return tier_->lost(); }
  const std::vector<std::pair<Nanoseconds, Nanoseconds>>& windows() const { return windows_; }
  CrossCheck cross_check() const;
  Nanoseconds reader_cpu() const { return reader_cpu_; }
  std::uint64_t events() const { return tier_->events(); }

 private:
  struct Checked {
    Nanoseconds first_stat = 0, last_stat = 0, first_trace = 0, last_trace = 0;
  };
  explicit SchedTrace(const TraceOptions& options);
  void run();
  void look_at_job();
  void keep_budget(Nanoseconds now);
  Result<void> switch_on();
  void switch_off();

  TraceOptions options_;
  std::string why_not_above_;
  ReaderThread reader_;
  mutable std::mutex mutex_;  // job_, tier_ but for draining, windows_
  JobThreads job_;
  std::unique_ptr<TraceTier> tier_;
  std::unordered_map<std::int64_t, Checked> checked_;
  bool looked_ = false;  // since it was switched on: threads that are new now were born in the trace
  std::vector<TraceCoverage> coverage_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> windows_;
  bool on_ = false;
  std::size_t cpus_ = 1;
  Nanoseconds began_ = 0, reader_cpu_ = 0;
};

}  // namespace gradsync
