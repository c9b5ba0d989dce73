// Tier C: the host as /proc and cgroupfs tell it to anybody, in looks about a second apart. Sums are exact (schedstat),
// single waits are not seen. The parts of it that a report needs are made by parts().
#pragma once

#include <filesystem>
#include <string>

#include "collectors/host/host_counters.h"
#include "collectors/host/irq_snapshot.h"
#include "collectors/host/job_threads.h"
#include "collectors/host/thread_table.h"
#include "src/hosttext/interrupt_counts.h"
#include "src/model/collector.h"

namespace gradsync {

class ProcSampler {
 public:
  // The processes are the descendants of `ancestor`, and itself where it is of it. 0: all. Of copied files one look tells
  // the sums since each thread's birth.
  ProcSampler(const IrqRoots& roots, std::int64_t ancestor, JobThreads::Ancestor itself, Since since);

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
  JobThreads::Ancestor itself_;
  Since since_;
  bool live_;
  std::string machine_;
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
