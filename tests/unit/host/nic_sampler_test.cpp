#include "collectors/host/nic_sampler.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>

#include "tests/unit/host/tree.h"

using namespace gradsync;

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

void put_counters(const test::Tree& tree, int scale) {
  const auto put = [&](const std::string& path, int value) { tree.put(path, std::to_string(value * scale) + "\n"); };
  put("sys/class/net/eth0/statistics/rx_bytes", 1000);
  put("sys/class/net/eth0/statistics/tx_bytes", 3000);
  put("sys/class/net/eth0/statistics/rx_dropped", 2);
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", 500);
  put("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", 100);
  put("sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", 7);
  put("sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", 3);
  tree.put("proc/net/snmp",
           "Tcp: OutSegs RetransSegs\nTcp: " + std::to_string(2000 * scale) + " " + std::to_string(12 * scale) + "\n");
}

double number(const Series& series, const std::string& device, const std::string& column) {
  for (const auto& row : series.rows) {
    if (std::get<std::string>(row[1]) != device) continue;
    for (std::size_t i = 0; i < series.columns.size(); ++i)
      if (series.columns[i] == column)
        return std::holds_alternative<double>(row[i]) ? std::get<double>(row[i])
                                                      : static_cast<double>(std::get<std::int64_t>(row[i]));
  }
  return -1;
}

}  // namespace

TEST_CASE("differences of interfaces, RDMA ports and TCP; words of a port become bytes") {
  const test::Tree tree;
  NicSampler sampler(tree.root());
  put_counters(tree, 1);
  sampler.look(10 * kSecond);
  put_counters(tree, 3);
  sampler.look(12 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  const Series& nic = parts.series.at("nic");
  CHECK(number(nic, "eth0", "rx_bytes") == 2000);
  CHECK(number(nic, "eth0", "rx_dropped") == 4);
  CHECK(number(nic, "eth0", "interval_s") == doctest::Approx(2));
  CHECK(std::isnan(number(nic, "eth0", "cnp_sent")));
  CHECK(number(nic, "mlx5_0/1", "tx_bytes") == 4000);
  CHECK(number(nic, "mlx5_0/1", "cnp_sent") == 14);
  CHECK(number(nic, "mlx5_0/1", "out_of_sequence") == 6);
  CHECK(number(nic, "tcp", "retransmits") == 24);
  CHECK(parts.series.at("nic_samples").rows.size() == 4);  // two devices at two looks
}

TEST_CASE("a bond tells the interfaces below it") {
  const test::Tree tree;
  NicSampler sampler(tree.root());
  for (const char* count : {"10", "20"}) {
    tree.put("sys/class/net/bond0/statistics/rx_bytes", count);
    sampler.look(std::stoi(count) * kSecond);
  }
  tree.link("sys/class/net/bond0/lower_eth1", "../eth1");
  tree.link("sys/class/net/bond0/lower_eth0", "../eth0");
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK(std::get<std::string>(parts.series.at("nic").rows.at(0).back()) == "eth0,eth1");
}

TEST_CASE("a counter that falls is not a difference; a device that appears counts from there") {
  const test::Tree tree;
  NicSampler sampler(tree.root());
  tree.put("sys/class/net/eth0/statistics/rx_bytes", "5000");
  tree.put("sys/class/net/eth0/statistics/tx_bytes", "1");
  sampler.look(1 * kSecond);
  tree.put("sys/class/net/eth0/statistics/rx_bytes", "100");
  tree.put("sys/class/net/eth1/statistics/rx_bytes", "900");
  sampler.look(2 * kSecond);
  tree.put("sys/class/net/eth0/statistics/rx_bytes", "150");
  tree.put("sys/class/net/eth1/statistics/rx_bytes", "1000");
  sampler.look(3 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK(number(parts.series.at("nic"), "eth0", "rx_bytes") == 50);
  CHECK(number(parts.series.at("nic"), "eth1", "rx_bytes") == 100);
}

TEST_CASE("interfaces of the job's other network namespaces, each once, and not the doctor's own again") {
  const test::Tree tree;
  tree.link("proc/self/ns/net", "net:[7]");
  tree.put("proc/10/task/10/children", "20 21 22 ");
  for (const auto& [pid, space] : {std::pair{"20", "net:[7]"}, {"21", "net:[8]"}, {"22", "net:[8]"}}) {
    tree.put(std::string("proc/") + pid + "/task/" + pid + "/children", "");
    tree.link(std::string("proc/") + pid + "/ns/net", space);
  }
  tree.put("sys/class/net/eth0/statistics/rx_bytes", "1");
  tree.put("sys/class/net/eth0/statistics/tx_bytes", "1");
  const auto put_other = [&](int sent) {
    tree.put("proc/21/net/dev", " face |bytes packets|bytes packets\n veth0: 5 1 " + std::to_string(sent) + " 1\n");
    tree.put("proc/21/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: " + std::to_string(sent) + " 3\n");
  };
  NicSampler sampler(tree.root(), 10);
  sampler.look(1 * kSecond);  // the process has no interfaces yet
  put_other(100);
  sampler.look(2 * kSecond);
  put_other(900);
  sampler.look(4 * kSecond);
  tree.remove("proc/21");  // it ended, its namespace with it
  tree.remove("proc/22");
  sampler.look(6 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  const Series& nic = parts.series.at("nic");
  CHECK(nic.rows.size() == 3);
  CHECK(number(nic, "eth0", "namespace") == 7);
  CHECK(number(nic, "eth0", "interval_s") == doctest::Approx(5));
  CHECK(number(nic, "veth0@8", "namespace") == 8);
  CHECK(number(nic, "veth0@8", "tx_bytes") == 800);
  CHECK(number(nic, "veth0@8", "interval_s") == doctest::Approx(2));
  CHECK(std::isnan(number(nic, "veth0@8", "rx_pause")));
  CHECK(number(nic, "tcp@8", "out_segments") == 800);
  CHECK(parts.series.at("nic_samples").rows.size() == 2);
}

TEST_CASE("many looks are thinned, the first and the last stay; no counters are no series") {
  const test::Tree tree;
  NicSampler sampler(tree.root());
  for (int i = 0; i < 700; ++i) {
    tree.put("sys/class/net/eth0/statistics/rx_bytes", std::to_string(i));
    tree.put("sys/class/net/eth0/statistics/tx_bytes", "0");
    sampler.look((i + 1) * kSecond);
  }
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK(std::get<std::string>(parts.series.at("nic").rows[0].back()).empty());
  const Series& samples = parts.series.at("nic_samples");
  CHECK(samples.rows.size() < 601);
  CHECK(std::get<std::int64_t>(samples.rows.front()[2]) == kSecond);
  CHECK(std::get<std::int64_t>(samples.rows.back()[2]) == 700 * kSecond);
  CHECK(number(parts.series.at("nic"), "eth0", "rx_bytes") == 699);

  const test::Tree empty;
  NicSampler blind(empty.root());
  blind.look(kSecond);
  blind.look(2 * kSecond);
  RecordingParts nothing;
  blind.add_parts(nothing);
  CHECK_FALSE(nothing.series.contains("nic"));
  CHECK(nothing.coverage.size() == 1);
}

TEST_CASE("loopback, live: what is sent is counted") {
  const auto bytes = [] {
    const NicCounters all = read_nic_counters("/");
    const auto device = all.find("lo");
    return device == all.end() ? std::uint64_t{0} : device->second.at("tx_bytes");
  };
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  REQUIRE(socket >= 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof to;
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    MESSAGE("skipped: no loopback interface here");
  } else {
    REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&to), &length) == 0);
    const std::uint64_t before = bytes();
    const std::string packet(1000, 'x');
    for (int i = 0; i < 50; ++i)
      ::sendto(socket, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    CHECK(bytes() >= before + 50 * 1000);
  }
  ::close(socket);
}
