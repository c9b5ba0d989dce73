// Counters of the machine and of the job's control groups between two looks.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/hosttext/proc_system.h"
#include "src/model/event.h"
#include "src/model/series.h"

namespace gradsync {

struct HostCounters {
  std::optional<CpuTicks> cpu;
  std::map<std::string, Pressure> pressure;  // cpu, memory, io, irq
  std::optional<Softnet> softnet;
  Nanoseconds at = 0;
};
HostCounters read_host_counters(const std::filesystem::path& proc, Nanoseconds at);

// cpu.stat of the groups that processes are in, and of those above them: a quota there holds the job back as well.
class QuotaWatch {
 public:
  QuotaWatch(std::filesystem::path proc, std::filesystem::path cgroups)
      : proc_(std::move(proc)), cgroups_(std::move(cgroups)) {}
  void look(const std::vector<std::int64_t>& pids);

  struct Group {
    std::string path;  // "cpu/job"
    Throttling first, last;
    std::uint64_t periods() const { return last.periods - first.periods; }
    std::uint64_t throttled() const { return last.throttled - first.throttled; }
  };
  // With the largest share of throttled periods; nothing when no group had a quota.
  std::optional<Group> worst() const;

 private:
  void add_group(const std::filesystem::path& mount, const std::string& path);

  std::filesystem::path proc_, cgroups_;
  std::map<std::filesystem::path, Group> groups_;
};

// The CPUs that the job may use, between two looks at the job.
struct JobShare {
  std::optional<CpuTicks> first, last;
  Nanoseconds from = 0, to = 0;
  std::vector<int> cpus;
  Nanoseconds job_run = 0;  // of all its threads
};
// Share of the time of these CPUs in which others than the job ran on them, in percent; nothing when the looks are too
// close (below 3 s the tail of the job's threads, which nobody saw, is no longer small). At least 0.
std::optional<double> others_percent(const JobShare& share, double ticks_per_s);

// One row, the series `host`; what is not known is null.
Series host_series(const HostCounters& first, const HostCounters& last, const std::optional<QuotaWatch::Group>& quota,
                   const JobShare& job, const std::string& machine);

}  // namespace gradsync
