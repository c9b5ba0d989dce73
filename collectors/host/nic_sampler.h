// Counters of network interfaces, of RDMA ports and of TCP, in looks about a second apart: what they carried, dropped,
// sent again, and where the network asked for less.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/model/collector.h"

namespace gradsync {

// By device ("eth0", "mlx5_0/1", "tcp") the counters by their common name; what a device does not have is absent.
using NicCounters = std::map<std::string, std::map<std::string, std::uint64_t>>;
NicCounters read_nic_counters(const std::filesystem::path& root);

class NicSampler {
 public:
  explicit NicSampler(std::filesystem::path root) : root_(std::move(root)) {}
  void look(Nanoseconds at);
  // The series `nic` (one row a device) and `nic_samples` (bytes at each look, thinned when there are many).
  void add_parts(RecordingParts& parts) const;

 private:
  struct Sample {
    Nanoseconds at = 0;
    NicCounters counters;
  };
  Series totals() const;
  Series samples() const;

  std::filesystem::path root_;
  std::vector<Sample> samples_;  // first and last are always kept
  NicCounters grown_;            // summed differences: a counter that wraps or is reset counts from there
};

}  // namespace gradsync
