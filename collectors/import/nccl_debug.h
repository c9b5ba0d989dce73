// What NCCL says about itself with NCCL_DEBUG=INFO: version, network, transports of the channels, interfaces, warnings,
// and with NCCL_DEBUG_SUBSYS=TUNING the algorithm and protocol of each size. Fed line by line; every set is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collectors/import/nccl_lines.h"
#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

class NcclDebug {
 public:
  void line(const NcclLine& line);
  void plain_line(std::string_view text);  // "NCCL version 2.19.3+cuda12.3" stands without a process before it

  std::int64_t lines() const { return lines_; }
  std::int64_t dropped() const { return dropped_; }
  void report(Facts& facts, SeriesSet& series) const;

 private:
  // operation, bytes, algorithm, protocol, channels (-1 = not told)
  using Choice = std::tuple<std::string, std::int64_t, std::string, std::string, std::int64_t>;

  void information(std::string_view text);
  void channel(std::string_view text);
  void network(std::string_view text);
  void choice(std::string_view text);
  void communicator(std::string_view text);
  void keep(std::set<std::string>& names, std::string_view name);

  std::int64_t lines_ = 0, dropped_ = 0, warnings_ = 0;
  std::int64_t network_channels_ = 0, direct_channels_ = 0;  // of the network: all, and those with GPUDirect RDMA
  std::int64_t most_ranks_ = 0, most_nodes_ = 0;
  std::string first_warning_;
  std::set<std::string> versions_, libraries_, hosts_, transports_, networks_, operations_;
  std::set<std::string> devices_, sockets_, bootstrap_;
  bool no_device_ = false, disabled_ = false;
  std::map<Choice, std::int64_t> choices_;
};

}  // namespace gradsync
