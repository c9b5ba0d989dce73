// Between tiers B and C, for users who may trace nothing but their own threads: the kernel's records of when these threads
// go on a CPU and off it. Needs no privilege; knows preemptions, and no wake-ups.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include "collectors/host/perf_pages.h"
#include "collectors/host/reader_thread.h"
#include "collectors/host/switch_account.h"
#include "src/model/collector.h"

namespace gradsync {

class SwitchTrace {
 public:
  // Of what the calling thread starts from here on, in this thread and below it. CPUs are those of `root`'s /sys.
  static Result<std::unique_ptr<SwitchTrace>> open(const std::filesystem::path& root);
  // Of a process that lives, of its descendants, and of what they start from here on. For this the process may open as
  // many files as its hard limit allows.
  static Result<std::unique_ptr<SwitchTrace>> open_of(const std::filesystem::path& root, std::int64_t pid);
  ~SwitchTrace();

  Result<void> start();
  void stop();

  // From any thread, so far: the sums of /proc with what the records tell of the same threads.
  std::vector<ThreadSeen> threads(std::vector<ThreadWait> sums) const;
  Nanoseconds began() const { return window_.first; }
  std::size_t refused() const { return refused_.size(); }  // threads that the kernel did not let us watch

  // After stop.
  const SwitchAccount& account() const { return account_; }
  std::uint64_t lost() const;
  const std::pair<Nanoseconds, Nanoseconds>& window() const { return window_; }
  Nanoseconds reader_cpu() const { return reader_cpu_; }
  std::uint64_t records() const { return records_; }

 private:
  struct Ring {
    FileDescriptor fd;
    PerfPages pages;
  };
  SwitchTrace() = default;
  static std::unique_ptr<SwitchTrace> prepared(const std::filesystem::path& root);
  Result<void> add_ring(const struct perf_event_attr& attributes, int cpu);
  Result<void> join_rings(std::int64_t pid, std::int64_t tid);
  Result<void> join_tree(const std::filesystem::path& root, std::int64_t pid);
  void run();
  void drain();
  void take(const perf_event_header& header, std::span<const std::byte> record);
  void process_until(Nanoseconds limit);

  std::vector<Ring> rings_;  // one for each CPU of cpus_
  std::vector<int> cpus_;
  std::vector<FileDescriptor> joined_;  // threads that write into them
  std::set<std::int64_t> refused_;
  mutable std::mutex mutex_;  // account_
  SwitchAccount account_;
  std::vector<SwitchRecord> pending_;
  ReaderThread reader_;
  std::pair<Nanoseconds, Nanoseconds> window_{0, 0};
  Nanoseconds reader_cpu_ = 0, clock_offset_ = 0;
  std::int64_t own_pid_ = 0;
  std::uint64_t records_ = 0, lost_before_ = 0;
};

// After stop: series, facts, coverage `scheduler`; and the waits as events for the join.
void add_switch_parts(const SwitchTrace& trace, RecordingParts& parts);
void write_switches(const SwitchTrace& trace, EventSink& events);

}  // namespace gradsync
