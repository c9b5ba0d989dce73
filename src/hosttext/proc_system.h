// Counters of the whole machine and of control groups, as /proc and cgroupfs print them. All of them grow since boot
// (or since the group was made): only differences mean something. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/hosttext/interrupts.h"
#include "src/model/event.h"

namespace gradsync {

// The line "cpu " of /proc/stat, in ticks. Sampled by the timer: short softirqs are undercounted.
struct CpuTicks {
  std::uint64_t total = 0, irq = 0, softirq = 0, steal = 0;
  std::uint64_t cpus = 0;             // lines cpuN
  std::map<int, std::uint64_t> busy;  // of each: neither idle, nor waiting for a disk, nor stolen
};
std::optional<CpuTicks> parse_cpu_ticks(std::string_view stat);

// /proc/pressure/*: microseconds since boot in which some, or all, tasks stood still for the resource.
struct Pressure {
  std::optional<std::uint64_t> some_us, full_us;
};
Pressure parse_pressure(std::string_view text);

// cpu.stat of a control group, version 1 (throttled_time, ns) or 2 (throttled_usec). Absent where it has no quota.
struct Throttling {
  std::uint64_t periods = 0, throttled = 0, throttled_us = 0;
};
std::optional<Throttling> parse_throttling(std::string_view text);

// /proc/net/softnet_stat, summed over the CPUs. Hexadecimal columns: processed, dropped, squeezed.
struct Softnet {
  std::uint64_t processed = 0, dropped = 0, squeezed = 0;
};
std::optional<Softnet> parse_softnet(std::string_view text);

// /proc/softirqs: a row for each action ("NET_RX"), as the rows of /proc/interrupts.
std::optional<InterruptSnapshot> parse_softirqs(std::string_view text);

// /proc/net/snmp and netstat: "Tcp: A B" above "Tcp: 1 2". Negative numbers (MaxConn) are left out.
std::map<std::string, std::uint64_t> parse_protocol_counters(std::string_view text);  // "Tcp.RetransSegs" → 12

// /proc/PID/net/dev, of the process's network namespace: by interface rx_bytes, rx_packets, rx_errors, rx_dropped and the
// same of tx. Columns are found by their names.
std::map<std::string, std::map<std::string, std::uint64_t>> parse_net_dev(std::string_view text);

// Where /proc/PID/cgroup puts the process: the path in the version 1 hierarchy of the cpu controller, and in version 2.
struct CgroupPaths {
  std::string cpu_v1, v1_hierarchy;  // "/job", "cpu,cpuacct"; empty: none
  std::string v2;
};
CgroupPaths parse_cgroup_paths(std::string_view text);

// /proc/PID/timens_offsets: what a time namespace adds to CLOCK_MONOTONIC. Stamps of perf are without it.
Nanoseconds parse_monotonic_offset(std::string_view text);

}  // namespace gradsync
