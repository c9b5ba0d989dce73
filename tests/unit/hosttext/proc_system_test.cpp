#include "src/hosttext/proc_system.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("/proc/stat: ticks of all CPUs, and how many there are") {
  const auto ticks =
      parse_cpu_ticks("cpu  100 1 20 300 5 6 7 8 50 0\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8\nintr 5\n");
  REQUIRE(ticks);
  CHECK(ticks->total == 447);  // guests are in user already
  CHECK(ticks->irq == 6);
  CHECK(ticks->softirq == 7);
  CHECK(ticks->steal == 8);
  CHECK(ticks->cpus == 2);
  CHECK(ticks->busy == std::map<int, std::uint64_t>{{0, 19}, {1, 19}});  // without idle, disk and stolen
  for (const char* broken : {"", "cpu 1 2 3\n", "cpu 1 2 3 4 5 6 x 8\n", "intr 1\n"})
    CHECK_FALSE(parse_cpu_ticks(broken));
}

TEST_CASE("pressure: totals in microseconds") {
  const Pressure both = parse_pressure("some avg10=1.00 avg60=0.00 avg300=0.00 total=5000\nfull avg10=0 total=70\n");
  CHECK(*both.some_us == 5000);
  CHECK(*both.full_us == 70);
  CHECK_FALSE(parse_pressure("some avg10=1.00\n").some_us);
}

TEST_CASE("throttling: both versions of control groups; none without a quota's counters") {
  const auto one = parse_throttling("nr_periods 31\nnr_throttled 30\nthrottled_time 2380000000\n");
  CHECK(one->throttled_us == 2'380'000);
  const auto two = parse_throttling("usage_usec 9\nnr_periods 31\nnr_throttled 30\nthrottled_usec 77\n");
  CHECK(two->periods == 31);
  CHECK(two->throttled == 30);
  CHECK(two->throttled_us == 77);
  CHECK_FALSE(parse_throttling("usage_usec 9\nuser_usec 1\n"));
}

TEST_CASE("softnet: hexadecimal, summed") {
  const auto sum = parse_softnet("00000010 00000001 00000002 0\n0000000f 00000000 0000000a 0\n");
  CHECK(sum->processed == 31);
  CHECK(sum->dropped == 1);
  CHECK(sum->squeezed == 12);
  CHECK_FALSE(parse_softnet("zz 0 0\n"));
  CHECK_FALSE(parse_softnet(""));
}

TEST_CASE("softirqs: a row for each action") {
  const auto snapshot = parse_softirqs("            CPU0       CPU2\n NET_RX:  12  7\n BLOCK: 1\n");
  REQUIRE(snapshot);
  CHECK(snapshot->cpus == std::vector<int>{0, 2});
  REQUIRE(snapshot->rows.size() == 1);
  CHECK(snapshot->rows[0].id == "NET_RX");
  CHECK(snapshot->rows[0].counts == std::vector<std::uint64_t>{12, 7});
  CHECK(snapshot->broken_rows == 1);
  CHECK_FALSE(parse_softirqs("NET_RX: 1\n"));
}

TEST_CASE("protocol counters: names above values; what is negative is left out") {
  const auto counters =
      parse_protocol_counters("Tcp: MaxConn RetransSegs\nTcp: -1 12\nTcpExt: TCPTimeouts\nTcpExt: 3\n");
  CHECK(counters.at("Tcp.RetransSegs") == 12);
  CHECK(counters.at("TcpExt.TCPTimeouts") == 3);
  CHECK_FALSE(counters.contains("Tcp.MaxConn"));
}

TEST_CASE("interfaces of a network namespace: columns by their names, of both directions") {
  const auto all = parse_net_dev(
      "Inter-|   Receive                    |  Transmit\n"
      " face |bytes    packets errs drop multicast|bytes    packets errs drop\n"
      "    lo:    2706      31    0    0  0     2707      32    1    2\n"
      "  eth0:1: 5 6 7 8 9 10 11 12 13\n"
      "  torn: 5 6\n");
  REQUIRE(all.size() == 2);
  CHECK(all.at("lo").at("rx_bytes") == 2706);
  CHECK(all.at("lo").at("tx_packets") == 32);
  CHECK(all.at("lo").at("tx_dropped") == 2);
  CHECK(all.at("lo").at("tx_errors") == 1);
  CHECK_FALSE(all.at("lo").contains("rx_multicast"));
  CHECK(all.at("eth0:1").at("rx_dropped") == 8);
  for (const char* none : {"", "lo: 1 2 3\n", " face |bytes\nlo: 1\n"}) CHECK(parse_net_dev(none).empty());
}

TEST_CASE("what a time namespace adds to the monotonic clock") {
  CHECK(parse_monotonic_offset("monotonic           5         250\nboottime            7         0\n") ==
        5'000'000'250);
  CHECK(parse_monotonic_offset("monotonic  -1  500000000\n") == -500'000'000);
  for (const char* none : {"", "boottime 7 0\n", "monotonic x 0\n", "monotonic 1\n"})
    CHECK(parse_monotonic_offset(none) == 0);
}

TEST_CASE("control groups of a process, in both versions") {
  const CgroupPaths paths = parse_cgroup_paths("4:cpuset:/\n3:cpu,cpuacct:/job\n0::/system.slice/a.service\n");
  CHECK(paths.cpu_v1 == "/job");
  CHECK(paths.v1_hierarchy == "cpu,cpuacct");
  CHECK(paths.v2 == "/system.slice/a.service");
  CHECK(parse_cgroup_paths("2:cpuacct:/x\n").cpu_v1.empty());
}
