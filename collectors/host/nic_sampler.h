// Counters of network interfaces, of RDMA ports and of TCP, in looks about a second apart: what they carried, dropped,
// sent again, and where the network asked for less. Of the doctor's own network namespace, and of every other one that a
// process of the job is in: there /proc tells fewer counters, and an interface is called "veth0@INODE".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/model/collector.h"

namespace gradsync {

// By device ("eth0", "mlx5_0/1", "tcp") the counters by their common name; what a device does not have is absent.
using NicCounters = std::map<std::string, std::map<std::string, std::uint64_t>>;
NicCounters read_nic_counters(const std::filesystem::path& root);

// The inode of a process's network namespace; `process` is its number or "self".
std::optional<std::uint64_t> net_namespace(const std::filesystem::path& proc, const std::string& process);
// Those of one process's namespace, without the RDMA ports.
NicCounters read_process_nic_counters(const std::filesystem::path& proc, std::int64_t pid);

class NicSampler {
 public:
  // `ancestor`: namespaces of its descendants are looked at, too; 0: of none.
  explicit NicSampler(std::filesystem::path root, std::int64_t ancestor = 0);
  void look(Nanoseconds at);
  // The series `nic` (one row a device) and `nic_samples` (bytes at each look, thinned when there are many).
  void add_parts(RecordingParts& parts) const;

 private:
  struct Sample {
    Nanoseconds at = 0;
    NicCounters counters;
  };
  struct Seen {
    Nanoseconds first = 0, last = 0;
    std::optional<std::uint64_t> space;  // network namespace
  };
  void add_namespaces(NicCounters& all);
  std::string lower_of(const std::string& device) const;
  Cell namespace_of(const std::string& device) const;
  Series totals() const;
  Series samples() const;

  std::filesystem::path root_;
  std::int64_t ancestor_;
  std::optional<std::uint64_t> own_;
  std::vector<Sample> samples_;  // first and last are always kept
  NicCounters grown_;            // summed differences: a counter that wraps or is reset counts from there
  std::map<std::string, Seen> seen_;
};

}  // namespace gradsync
