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

// One row, the series `host`; what is not known is null.
Series host_series(const HostCounters& first, const HostCounters& last, const std::optional<QuotaWatch::Group>& quota,
                   const std::string& machine);

}  // namespace gradsync
