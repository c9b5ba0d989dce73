// Tier C: the host as /proc and cgroupfs tell it to anybody, in looks about a second apart. Sums are exact (schedstat),
// single waits are not seen. The parts of it that a report needs are made by parts().
#pragma once

#include <filesystem>
#include <string>

#include "collectors/host/host_counters.h"
#include "collectors/host/thread_table.h"
#include "src/hosttext/interrupt_counts.h"
#include "src/model/collector.h"

namespace gradsync {

class ProcSampler {
 public:
  // `root`: below it proc and sys. The processes are the descendants of `ancestor`; with Since::first_look it as well. 0: all.
  ProcSampler(const std::filesystem::path& root, std::int64_t ancestor, Since since);

  void look(Nanoseconds at);
  // Called once after the last look: the machine's counters up to now. Threads that have ended keep their last look.
  void finish(Nanoseconds at);
  void add_parts(RecordingParts& parts) const;

  const ThreadTable& threads() const { return threads_; }
  std::vector<std::int64_t> processes() const;

 private:
  void look_at_machine(Nanoseconds at);
  void look_at_job(const std::vector<std::int64_t>& pids, Nanoseconds at);
  void add_threads(RecordingParts& parts) const;
  void add_interrupts(RecordingParts& parts) const;
  void add_neighbours(RecordingParts& parts) const;
  std::string stopped() const;

  std::filesystem::path proc_, sys_;
  std::int64_t ancestor_;
  Since since_;
  ThreadTable threads_;
  QuotaWatch quotas_;
  HostCounters first_, last_;
  InterruptCounts interrupts_, softirqs_;
  int looks_ = 0;
  JobShare job_;
};

// The host's name; "" when it has none.
std::string machine_name();

}  // namespace gradsync
