// A way to watch the scheduler and interrupts of all CPUs; SchedTrace takes the best that is allowed here.
//
//   A  eBPF        totals are kept in the kernel, and single waits come through a ring: nothing is missed silently
//   B  perf rings  every event comes, and is accounted here; on some kernels events of idle CPUs are missing
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "collectors/host/job_threads.h"
#include "src/base/result.h"
#include "src/hosttext/irq_times.h"
#include "src/hosttext/thread_waits.h"
#include "src/model/event.h"

namespace gradsync {

// A stretch that is worth an event of its own: at least 50 µs without a CPU, or 20 µs in an interrupt handler.
inline constexpr Nanoseconds kLeastWait = 50'000, kLeastIrq = 20'000;
inline constexpr std::size_t kMostHeldUp = 200'000;

struct HeldUp {
  Kind kind = Kind::sched_wait;
  std::int64_t pid = 0, tid = 0;
  int cpu = 0;
  Nanoseconds start = 0, end = 0;
  std::string thread, by;  // by: who had the CPU ("idle": nobody, so a quota held it back); of interrupts the handler
};

// What is known of one thread of the job. Moments are CLOCK_MONOTONIC; 0 = no such wait.
struct ThreadSeen {
  ThreadWait wait;  // delays after wake-ups, and sums
  Nanoseconds longest_at = 0;
  ThreadWait preempted;  // of waits after preemptions: count, p50, p99, max, mean
  Nanoseconds preempted_longest_at = 0;
  bool preemptions_known = true;
};

// What came and what was seen of it, by tracepoint.
struct TraceCoverage {
  std::string event;
  std::uint64_t counted = 0, seen = 0, lost = 0;
  double percent() const;  // (seen + lost) of counted: below 100 some are missing and nobody said so
};

enum class TraceSubject { scheduler_and_interrupts, interrupts };

struct TierSetting {
  std::filesystem::path root = "/";
  std::vector<int> cpus;         // online
  Nanoseconds clock_offset = 0;  // of our time namespace: the kernel's stamps lack it
  TraceSubject subject = TraceSubject::scheduler_and_interrupts;
  std::size_t ring_bytes = 0;  // of tier A; 0 = 2 MiB
};

// Called by SchedTrace, under its lock where not said otherwise.
class TraceTier {
 public:
  struct Name {
    const char *letter, *source;
    double event_cost;  // ns that an event costs the thread it comes in (measured)
  };
  TraceTier() = default;
  TraceTier(const TraceTier&) = delete;
  TraceTier& operator=(const TraceTier&) = delete;
  virtual ~TraceTier() = default;

  virtual Name name() const = 0;
  virtual std::vector<int> poll_fds() const = 0;
  // From the moment that enable returns to that which disable returns everything is accounted.
  virtual Result<Nanoseconds> enable() = 0;
  virtual Nanoseconds disable() = 0;
  virtual void drain() = 0;                                      // by the reader, without the lock: takes what came
  virtual void settle(Nanoseconds until) = 0;                    // accounts what came before that
  virtual void look(const std::vector<std::int64_t>& pids) = 0;  // processes of the job that are known now
  virtual void lose_sight() = 0;                                 // what threads do from here on is not known
  virtual void close() = 0;                                      // no more events; totals stay

  virtual std::uint64_t events() const = 0;
  virtual std::uint64_t lost() const = 0;                   // of these, known not to be in the totals
  virtual std::vector<TraceCoverage> coverage() const = 0;  // after disable
  virtual std::vector<ThreadSeen> threads() const = 0;      // of the job, the longest wait first
  virtual std::vector<IrqTime> irqs() const = 0;
  virtual Nanoseconds waited(std::int64_t tid) const = 0;
  virtual std::vector<HeldUp> held_up() const = 0;
  virtual std::int64_t held_dropped() const = 0;
};

// Tier A; an error where this build, this kernel or this user cannot. probe: the same at a tenth of the cost, but that
// the kernel may still refuse the program.
Result<std::unique_ptr<TraceTier>> open_bpf_tier(const TierSetting& setting, const JobThreads& job);
std::optional<Error> probe_bpf_tier(const std::filesystem::path& root);

// Tier B.
Result<std::unique_ptr<TraceTier>> open_ring_tier(const TierSetting& setting, JobThreads& job);
std::optional<Error> probe_ring_tier(const std::filesystem::path& root);

}  // namespace gradsync
