#include "collectors/host/proc_sampler.h"

#include <doctest/doctest.h>

#include <cmath>

#include "collectors/host/job_tree.h"
#include "collectors/host/ticker.h"
#include "tests/unit/host/tree.h"

using namespace gradsync;

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

IrqRoots roots_of(const test::Tree& tree) { return {tree.root() / "proc", tree.root() / "sys"}; }

// Process 10 of the doctor has the child 20 with the threads 20 and 21.
void put_thread(const test::Tree& tree, int tid, const std::string& name, const std::string& schedstat,
                const std::string& state) {
  const std::string folder = "proc/20/task/" + std::to_string(tid);
  tree.put(folder + "/schedstat", schedstat);
  tree.put(folder + "/status", "Name:\t" + name + "\nState:\t" + state + "\nvoluntary_ctxt_switches:\t5\n");
  tree.put(folder + "/sched", "se.nr_migrations : 4\n");
}

void put_machine(const test::Tree& tree, int steal, int interrupts, const std::string& quota) {
  tree.put("proc/stat", "cpu 0 0 0 " + std::to_string(1000 - steal) + " 0 0 0 " + std::to_string(steal) + "\ncpu0 0\n");
  tree.put("proc/interrupts", "      CPU0\n 24: " + std::to_string(interrupts) + " PCI-MSI 1-edge virtio0-input.0\n");
  tree.put("proc/softirqs", "      CPU0\n NET_RX: " + std::to_string(interrupts * 2) + "\n");
  tree.put("proc/20/cgroup", "3:cpu:/job/rank\n");
  tree.put("sys/fs/cgroup/cpu/job/cpu.stat", quota);
  tree.put("sys/fs/cgroup/cpu/job/rank/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
}

const Cell& cell(const Series& series, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < series.columns.size(); ++i)
    if (series.columns[i] == column) return series.rows.at(row).at(i);
  throw std::out_of_range(column);
}
double number(const Series& series, std::size_t row, const std::string& column) {
  const Cell& value = cell(series, row, column);
  return std::holds_alternative<double>(value) ? std::get<double>(value)
                                               : static_cast<double>(std::get<std::int64_t>(value));
}

}  // namespace

TEST_CASE("two looks: threads from their birth, the machine from the first look") {
  const test::Tree tree;
  tree.put("proc/10/task/10/children", "20 ");
  tree.put("proc/20/task/20/children", "");
  put_thread(tree, 20, "python3", "1000000000 50000000 10", "R (running)");
  put_thread(tree, 21, "pt_autograd_0", "200000000 900000000 40", "S (sleeping)");
  put_machine(tree, 100, 500, "nr_periods 100\nnr_throttled 50\nthrottled_time 5000000000\n");
  ProcSampler sampler(roots_of(tree), 10, JobThreads::Ancestor::left_out, Since::birth);
  sampler.look(kSecond);
  put_thread(tree, 20, "python3", "1800000000 250000000 20", "T (stopped)");
  put_machine(tree, 300, 700, "nr_periods 120\nnr_throttled 69\nthrottled_time 6500000000\n");
  tree.put("proc/stat", "cpu 0 0 0 1700 0 0 0 300\ncpu0 0\n");
  sampler.look(2 * kSecond);
  tree.remove("proc/20");  // it ends before the last look
  sampler.finish(3 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);

  const Series& sched = parts.series.at("sched");
  REQUIRE(sched.rows.size() == 2);
  CHECK(std::get<std::string>(cell(sched, 0, "thread")) == "pt_autograd_0:21");
  CHECK(number(sched, 0, "wait_us") == doctest::Approx(900'000));
  CHECK(number(sched, 1, "run_us") == doctest::Approx(1'800'000));
  CHECK(number(sched, 1, "migrations") == 4);
  for (const char* unknown : {"count", "p50_us", "p99_us", "max_us", "unseen"})
    CHECK(std::isnan(number(sched, 0, unknown)));
  CHECK(parts.facts.at("sched.stopped.kind") == "stopped");
  CHECK(parts.facts.at("sched.stopped") == "python3:20 was stopped by a signal in 1 of 2 looks");

  const Series& irq = parts.series.at("irq");
  REQUIRE(irq.rows.size() == 2);
  CHECK(std::get<std::string>(cell(irq, 0, "source")) == "/proc/interrupts");
  CHECK(number(irq, 0, "count") == 200);
  CHECK(number(irq, 0, "interval_s") == doctest::Approx(2));
  CHECK(std::get<std::string>(cell(irq, 1, "role")) == "softirq");
  CHECK(number(irq, 1, "count") == 400);

  const Series& host = parts.series.at("host");
  CHECK(number(host, 0, "steal_percent") == doctest::Approx(20));  // 200 of 1000 ticks
  CHECK(std::get<std::string>(cell(host, 0, "quota_group")) == "cpu/job");
  CHECK(number(host, 0, "quota_periods") == 20);
  CHECK(number(host, 0, "throttled_periods") == 19);
  CHECK(number(host, 0, "throttled_ms") == doctest::Approx(1500));
  CHECK(std::isnan(number(host, 0, "psi_cpu_some_percent")));
}

TEST_CASE("a process that was there before counts from the first look, itself included") {
  const test::Tree tree;
  tree.put("proc/20/task/20/children", "");
  put_thread(tree, 20, "python3", "1000000000 50000000 10", "R (running)");
  ProcSampler sampler(roots_of(tree), 20, JobThreads::Ancestor::of_it, Since::first_look);
  sampler.look(kSecond);
  put_thread(tree, 20, "python3", "1300000000 60000000 12", "R (running)");
  sampler.look(2 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK(number(parts.series.at("sched"), 0, "run_us") == doctest::Approx(300'000));
  CHECK(parts.facts.at("sched.stopped.kind") == "none");
  CHECK(number(parts.series.at("sched"), 0, "wait_us") == doctest::Approx(10'000));
}

TEST_CASE("one look at another machine's files: sums from birth on, its name, and nothing that takes two looks") {
  const test::Tree tree;
  tree.put("proc/20/task/20/children", "");
  tree.put("proc/sys/kernel/hostname", "gpu-7\n");
  put_thread(tree, 20, "python3", "1000000000 50000000 10", "R (running)");
  put_machine(tree, 100, 500, "");
  ProcSampler sampler(roots_of(tree), 0, JobThreads::Ancestor::of_it, Since::birth);
  sampler.look(kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK(number(parts.series.at("sched"), 0, "wait_us") == doctest::Approx(50'000));
  CHECK_FALSE(parts.series.contains("host"));
  REQUIRE_FALSE(parts.coverage.empty());
  CHECK(parts.coverage[0].reason.find("birth") != std::string::npos);
  CHECK(parts.coverage[0].hint.empty());
  sampler.finish(2 * kSecond);
  sampler.add_parts(parts);
  CHECK(std::get<std::string>(cell(parts.series.at("host"), 0, "machine")) == "gpu-7");
}

TEST_CASE("nothing below the root: coverage says so, and no series") {
  const test::Tree tree;
  ProcSampler sampler(roots_of(tree), 10, JobThreads::Ancestor::left_out, Since::birth);
  sampler.look(kSecond);
  sampler.finish(2 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK_FALSE(parts.series.contains("sched"));
  CHECK_FALSE(parts.facts.contains("sched.stopped.kind"));
  CHECK_FALSE(parts.series.contains("irq"));
  REQUIRE(parts.coverage.size() == 2);
  for (const Coverage& entry : parts.coverage) CHECK(entry.state == CoverageState::unavailable);
}

TEST_CASE("descendants without lists of children: by the parents of all processes") {
  const test::Tree tree;
  tree.put("proc/10/stat", "10 (a b) S 1 0");
  tree.put("proc/20/stat", "20 (c) S) R 10 0");
  tree.put("proc/30/stat", "30 (d) S 20 0");
  tree.put("proc/40/stat", "40 (e) S 1 0");
  CHECK(descendants(tree.root() / "proc", 10) == std::vector<std::int64_t>{20, 30});
}

TEST_CASE("dear looks become seldom") {
  CHECK(Ticker::pause_after(0, kSecond) == kSecond);
  CHECK(Ticker::pause_after(8'000'000, 2 * kSecond) == 18 * kSecond);  // 8 ms is 0.04 % of 20 s
}

TEST_CASE("threads that are bound to one core are told with who shares it") {
  const test::Tree tree;
  tree.put("proc/10/task/10/children", "20 ");
  tree.put("proc/20/task/20/children", "");
  tree.put("sys/devices/system/cpu/online", "0-3\n");
  for (int cpu = 0; cpu < 4; ++cpu)
    tree.put("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
             cpu % 2 == 0 ? "0,2\n" : "1,3\n");
  put_machine(tree, 100, 500, "");
  const auto bind = [&](int tid, const std::string& name, const std::string& cpus, const std::string& schedstat) {
    put_thread(tree, tid, name, schedstat, "R (running)");
    tree.put("proc/20/task/" + std::to_string(tid) + "/status",
             "Name:\t" + name + "\nCpus_allowed_list:\t" + cpus + "\n");
  };
  bind(20, "python3", "1", "900000000 0 1");
  bind(21, "proxy", "3", "800000000 0 1");
  bind(22, "wide", "0-3", "700000000 0 1");
  ProcSampler sampler(roots_of(tree), 10, JobThreads::Ancestor::left_out, Since::birth);
  sampler.look(kSecond);
  sampler.finish(2 * kSecond);
  RecordingParts parts;
  sampler.add_parts(parts);
  CHECK(parts.facts.at("sched.same_core.kind") == "SMT siblings");
  CHECK(parts.facts.at("sched.same_core") == "CPU 1,3: python3:20 (90 %), proxy:21 (80 %)");
}
