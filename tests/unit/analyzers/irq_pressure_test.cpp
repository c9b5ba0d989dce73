#include <doctest/doctest.h>

#include <limits>

#include "analyzers/analyzers.h"

using namespace gradsync;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::string device;
  std::int64_t cpu, count;
  std::string vector, role;
  double hard_us = kNaN, soft_us = kNaN;
};

Conclusions conclude(const std::vector<Row>& rows, double seconds, const std::string& source = "/proc/interrupts") {
  Inputs inputs;
  Series& series = inputs.series["irq"];
  series = {
      "irq", {"device", "irq", "cpu", "count", "hard_us", "soft_us", "vector", "role", "interval_s", "source"}, {}};
  for (const Row& r : rows)
    series.rows.push_back({r.device, "1", r.cpu, r.count, r.hard_us, r.soft_us, r.vector, r.role, seconds, source});
  Conclusions conclusions;
  make_irq_pressure()->conclude({}, inputs, conclusions);
  return conclusions;
}

const std::vector<Row> kUneven{{"eth0", 0, 9000, "eth0-0", "queue"}, {"eth0", 1, 500, "eth0-1", "queue"},
                               {"eth0", 2, 300, "eth0-2", "queue"},  {"eth0", 3, 200, "eth0-3", "queue"},
                               {"eth0", 0, 90, "eth0", "control"},   {"disk", 1, 10, "disk", "other"},
                               {"", 0, 70000, "Local timer", "cpu"}};

}  // namespace

TEST_CASE("rates of an interval, and the balance of a device's queues") {
  const Conclusions found = conclude(kUneven, 10);
  const auto value = [&](const char* name, const char* scope) { return found.metrics.value(name, scope); };
  CHECK(*value("irq.rate_hz", "device:eth0") == doctest::Approx(1009));
  CHECK(*value("irq.rate_hz", "device:disk") == doctest::Approx(1));
  CHECK(*value("irq.rate_hz", "all") == doctest::Approx(1010));  // the CPUs' own timers are none of a device
  CHECK(*value("irq.queues", "device:eth0") == doctest::Approx(4));
  CHECK(*value("irq.queues", "device:disk") == doctest::Approx(0));
  CHECK(*value("irq.busiest_over_median", "device:eth0") == doctest::Approx(22.5));
  CHECK(*value("irq.busiest_share_percent", "device:eth0") == doctest::Approx(90));
  CHECK_FALSE(value("irq.time_share_percent", "all"));
  CHECK_FALSE(value("softirq.time_share_percent", "all"));
  CHECK(found.facts.at("irq.busiest") == "CPU 0 serves 90 % of the 10K interrupts of eth0, whose queues are on 4 CPUs");
}

TEST_CASE("without an interval there are shares and no rates") {
  const Conclusions found = conclude(kUneven, kNaN);
  CHECK_FALSE(found.metrics.value("irq.rate_hz", "all"));
  CHECK_FALSE(found.metrics.value("irq.rate_hz", "device:eth0"));
  CHECK(*found.metrics.value("irq.busiest_over_median", "device:eth0") == doctest::Approx(22.5));
}

TEST_CASE("CPUs that own a queue count, also when nothing came; without a median there is no ratio") {
  const Conclusions found = conclude(
      {{"eth0", 0, 9000, "eth0-0", "queue"}, {"eth0", 1, 0, "eth0-1", "queue"}, {"eth0", 2, 0, "eth0-2", "queue"}}, 10);
  CHECK_FALSE(found.metrics.value("irq.busiest_over_median", "device:eth0"));
  CHECK(*found.metrics.value("irq.busiest_share_percent", "device:eth0") == doctest::Approx(100));
}

TEST_CASE("of few interrupts no balance is told") {
  const Conclusions found = conclude({{"eth0", 0, 9, "eth0-0", "queue"}, {"eth0", 1, 1, "eth0-1", "queue"}}, 10);
  CHECK_FALSE(found.metrics.value("irq.busiest_share_percent", "device:eth0"));
  CHECK_FALSE(found.facts.contains("irq.busiest"));
}

TEST_CASE("machines are not added up") {
  Inputs inputs;
  Series& series = inputs.series["irq"];
  series = {"irq", {"device", "cpu", "count", "vector", "role", "interval_s", "source", "machine"}, {}};
  for (const auto& [machine, count] : {std::pair{"a.txt", 5000}, {"b.txt", 20000}})
    for (const int cpu : {0, 1})
      series.rows.push_back({"eth0", std::int64_t{cpu}, std::int64_t{count}, "eth0-" + std::to_string(cpu), "queue",
                             10.0, "/proc/interrupts", machine});
  Conclusions found;
  make_irq_pressure()->conclude({}, inputs, found);
  CHECK(*found.metrics.value("irq.rate_hz", "device:a.txt/eth0") == doctest::Approx(1000));
  CHECK(*found.metrics.value("irq.rate_hz", "device:b.txt/eth0") == doctest::Approx(4000));
  CHECK(*found.metrics.value("irq.rate_hz", "all") == doctest::Approx(4000));
}

TEST_CASE("times of handlers: of the busiest CPU; perf's counts make no rate and no balance") {
  const Conclusions found = conclude({{"eth0", 0, 9000, "eth0-0", "queue", 20'000},
                                      {"eth0", 1, 9, "eth0-1", "queue", 10'000},
                                      {"", 1, 5, "", "softirq", kNaN, 1'200'000},
                                      {"", 1, 5, "", "softirq", kNaN, 300'000},
                                      {"", 0, 5, "", "softirq", kNaN, 100'000}},
                                     10, "perf script");
  CHECK(*found.metrics.value("irq.time_share_percent", "device:eth0") == doctest::Approx(0.3));
  CHECK(*found.metrics.value("irq.time_share_percent", "all") == doctest::Approx(0.2));
  CHECK(*found.metrics.value("softirq.time_share_percent", "all") == doctest::Approx(15));
  CHECK_FALSE(found.metrics.value("irq.rate_hz", "device:eth0"));
  CHECK_FALSE(found.metrics.value("irq.busiest_share_percent", "device:eth0"));
}

TEST_CASE("counted and timed beside each other: counted once, and timed rather than sampled by the tick") {
  Inputs inputs;
  Series& series = inputs.series["irq"];
  series = {"irq", {"device", "cpu", "count", "hard_us", "soft_us", "vector", "role", "interval_s", "source"}, {}};
  series.rows = {
      {"disk", std::int64_t{1}, std::int64_t{36'000}, kNaN, kNaN, "disk-0", "queue", 3.0, "/proc/interrupts"},
      {"disk", std::int64_t{1}, std::int64_t{36'100}, 90'250.0, kNaN, "disk-0", "queue", 3.01, "eBPF"},
      {"", std::int64_t{1}, std::int64_t{36'100}, kNaN, 150'500.0, "", "softirq", 3.01, "eBPF"},
      {"", std::int64_t{1}, std::int64_t{0}, 0.0, 900'000.0, "all", "softirq", 3.0, "/proc/stat"},
  };
  Conclusions found;
  make_irq_pressure()->conclude({}, inputs, found);
  CHECK(*found.metrics.value("irq.rate_hz", "device:disk") == doctest::Approx(12'000));
  CHECK(*found.metrics.value("irq.rate_hz", "all") == doctest::Approx(12'000));
  CHECK(*found.metrics.value("irq.time_share_percent", "device:disk") == doctest::Approx(90'250 / 3.01e6 * 100));
  CHECK(*found.metrics.value("irq.time_share_percent", "all") == doctest::Approx(90'250 / 3.01e6 * 100));
  CHECK(*found.metrics.value("softirq.time_share_percent", "all") == doctest::Approx(5));
  CHECK(found.facts["irq.costliest"] == "disk takes 3 % of a CPU: 12K interrupts/s of 2.5 µs");

  std::erase_if(series.rows, [](const auto& row) { return std::get<std::string>(row[8]) == "eBPF"; });
  Conclusions sampled;
  make_irq_pressure()->conclude({}, inputs, sampled);
  CHECK(*sampled.metrics.value("softirq.time_share_percent", "all") == doctest::Approx(30));
  CHECK_FALSE(sampled.facts.contains("irq.costliest"));
}

TEST_CASE("packets without interrupts: the softirq, its CPU, and that no interrupts is not no traffic") {
  Inputs inputs;
  Series& series = inputs.series["irq"];
  series = {
      "irq", {"device", "irq", "cpu", "count", "hard_us", "soft_us", "vector", "role", "interval_s", "source"}, {}};
  series.rows = {
      {"disk", "30", std::int64_t{0}, std::int64_t{100}, kNaN, kNaN, "disk-0", "queue", 2.0, "/proc/interrupts"},
      {"", "NET_RX", std::int64_t{0}, std::int64_t{600}, kNaN, kNaN, "", "softirq", 2.0, "/proc/softirqs"},
      {"", "NET_RX", std::int64_t{1}, std::int64_t{400'000}, kNaN, kNaN, "", "softirq", 2.0, "/proc/softirqs"},
      {"", "NET_RX", std::int64_t{1}, std::int64_t{400'000}, kNaN, 800'000.0, "", "softirq", 2.0, "eBPF"},
      {"", "TIMER", std::int64_t{1}, std::int64_t{2000}, kNaN, 100'000.0, "", "softirq", 2.0, "eBPF"},
      {"disk", "30", std::int64_t{1}, std::int64_t{100}, 40'000.0, kNaN, "disk-0", "queue", 2.0, "eBPF"},
  };
  Conclusions found;
  make_irq_pressure()->conclude({}, inputs, found);
  CHECK(found.facts.at("softirq.costliest") == "NET_RX takes 40 % of CPU 1: 200K runs/s of 2 µs");
  CHECK(
      found.facts.at("irq.silent_traffic")
          .starts_with(
              "NET_RX ran 200K times/s, most often on CPU 1, while devices raised 50 interrupts/s: packets over veth"));
  CHECK(*found.metrics.value("irq.busiest_cpu_percent", "all") == doctest::Approx(47));
  CHECK_FALSE(found.facts.contains("softnet.drops"));

  series.rows[0][3] = std::int64_t{300'000};  // a NIC that raises them
  Conclusions loud;
  make_irq_pressure()->conclude({}, inputs, loud);
  CHECK_FALSE(loud.facts.contains("irq.silent_traffic"));
}

TEST_CASE("packets that were dropped because a CPU did not keep up, over all CPUs") {
  Inputs inputs;
  inputs.series["softnet"] = {"softnet",
                              {"cpu", "processed", "dropped", "squeezed", "interval_s", "machine"},
                              {{std::int64_t{0}, std::int64_t{900}, std::int64_t{20}, std::int64_t{5}, 10.0, "a"},
                               {std::int64_t{1}, std::int64_t{900}, std::int64_t{30}, std::int64_t{0}, 10.0, "a"}}};
  Conclusions found;
  make_irq_pressure()->conclude({}, inputs, found);
  CHECK(*found.metrics.value("softnet.dropped_per_s", "all") == doctest::Approx(5));
  CHECK(found.facts.at("softnet.drops") == "CPU 1 dropped 3 packets/s because its backlog was full");
  CHECK(*found.metrics.value("softnet.squeezed_per_s", "all") == doctest::Approx(0.5));
  CHECK_FALSE(found.metrics.value("irq.rate_hz", "all"));
}
