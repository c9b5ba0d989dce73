#include "collectors/import/nccl_debug.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {
namespace {

struct Told {
  Facts facts;
  SeriesSet series;
};

Told read(const std::vector<std::string>& texts) {
  NcclDebug debug;
  for (const std::string& text : texts) {
    const std::string line = text.find(" NCCL ") == std::string::npos ? "alpha:1:2 [0] NCCL INFO " + text : text;
    const auto found = find_nccl_line(line);
    REQUIRE(found);
    debug.line(*found);
  }
  Told told;
  debug.report(told.facts, told.series);
  return told;
}

}  // namespace

TEST_CASE("InfiniBand between two nodes, with and without GPUDirect RDMA") {
  const Told told =
      read({"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>", "Using network IB",
            "comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
            "Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA", "Channel 01/0 : 1[1] -> 8[0] [send] via NET/IB/1",
            "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read", "Channel 02 : 0[0] -> 1[1] via SHM/direct/direct",
            "NCCL version 2.27.7+cuda13.0"});
  CHECK(told.facts.at("nccl.transport") == "ib, p2p, shm");
  CHECK(told.facts.at("nccl.network") == "ib");
  CHECK(told.facts.at("nccl.gdrdma") == "partly");
  CHECK(told.facts.at("nccl.rdma_device") == "found");
  CHECK(told.facts.at("nccl.interfaces") == "mlx5_0, mlx5_1");
  CHECK(told.facts.at("nccl.nodes") == "2");
  CHECK(told.facts.at("nccl.ranks") == "16");
  CHECK(told.facts.at("nccl.version") == "2.27.7+cuda13.0");
  CHECK(told.facts.at("nccl.hosts") == "alpha");
}

TEST_CASE("sockets: no device, or the device disabled") {
  const Told none = read({"NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>",
                          "Using network Socket", "Channel 00 : 1[60] -> 0[60] [receive] via NET/Socket/0"});
  CHECK(none.facts.at("nccl.network") == "socket");
  CHECK(none.facts.at("nccl.rdma_device") == "none found");
  CHECK(none.facts.at("nccl.interfaces") == "eth0, eth1");
  CHECK(none.facts.at("nccl.gdrdma") == "no");
  const Told disabled = read({"NCCL_IB_DISABLE set by environment to 1.", "Using network Socket"});
  CHECK(disabled.facts.at("nccl.rdma_device") == "disabled");
  CHECK_FALSE(disabled.facts.contains("nccl.gdrdma"));
  CHECK_FALSE(disabled.facts.contains("nccl.transport"));
}

TEST_CASE("networks of plug-ins, and the interface of the start alone") {
  const Told told = read({"Bootstrap : Using eth0:192.0.2.2<0>", "Using network AWS Libfabric",
                          "Channel 00 : 15[a01d0] -> 6[a01c0] [receive] via NET/AWS Libfabric/3/GDRDMA"});
  CHECK(told.facts.at("nccl.network") == "libfabric");
  CHECK(told.facts.at("nccl.gdrdma") == "yes");
  CHECK(told.facts.at("nccl.interfaces") == "eth0");
  CHECK_FALSE(told.facts.contains("nccl.rdma_device"));
  CHECK(read({"Bootstrap : Using [0]ens5:192.0.2.2<0>"}).facts.at("nccl.interfaces") == "ens5");
}

TEST_CASE("choices of algorithm and protocol in every wording") {
  const Told told =
      read({"AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}",
            "AllReduce: 8388608 Bytes -> Algo Ring proto Simple channel{Lo..Hi}={0..23}",
            "AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008", "4096 Bytes -> Algo 0 proto 0 time 12.5",
            "many Bytes -> Algo 0 proto 0", "8 Bytes -> Algo x"});
  const Series& choices = told.series.at("nccl_choices");
  REQUIRE(choices.rows.size() == 3);
  using Row = std::vector<Cell>;
  CHECK(std::get<std::string>(choices.rows[0][0]) == "unknown");  // no line says what it was
  CHECK(std::get<std::string>(choices.rows[0][2]) == "TREE");
  CHECK(std::get<std::string>(choices.rows[0][3]) == "LL");
  CHECK(std::get<std::string>(choices.rows[1][0]) == "all_gather");
  CHECK(std::isnan(std::get<double>(choices.rows[1][4])));
  CHECK(choices.rows[2] == Row{std::string("all_reduce"), std::int64_t{8388608}, std::string("RING"),
                               std::string("SIMPLE"), std::int64_t{24}, std::int64_t{2}});
}

TEST_CASE("a choice without operation belongs to the only operation of the log") {
  const Told told = read({"AllReduce: opCount 0 sendbuff 0x7 recvbuff 0x9 count 4 datatype 7 op 0 root 0 comm 0x5",
                          "4096 Bytes -> Algo 0 proto 0 time 12.5"});
  CHECK(std::get<std::string>(told.series.at("nccl_choices").rows[0][0]) == "all_reduce");
}

TEST_CASE("warnings are counted, the first is kept without its control characters") {
  const Told told =
      read({"alpha:1:2 [0] misc/socket.cc:42 NCCL WARN first \x1b[31m", "alpha:1:2 [0] a.cc:1 NCCL WARN second"});
  CHECK(told.facts.at("nccl.warnings") == "2");
  CHECK(told.facts.at("nccl.first_warning") == "first \\x1b[31m");
}

TEST_CASE("names and choices without end are bounded") {
  NcclDebug debug;
  std::vector<std::string> lines;
  for (int i = 0; i < 30000; ++i)
    lines.push_back("host" + std::to_string(i) + ":1:2 [0] NCCL INFO AllReduce: " + std::to_string(i) +
                    " Bytes -> Algo RING proto LL");
  for (const std::string& line : lines) debug.line(*find_nccl_line(line));
  Facts facts;
  SeriesSet series;
  debug.report(facts, series);
  CHECK(series.at("nccl_choices").rows.size() == 20000);
  CHECK(debug.dropped() > 10000);
  CHECK(facts.at("nccl.hosts").size() < 300);
}

}  // namespace gradsync
