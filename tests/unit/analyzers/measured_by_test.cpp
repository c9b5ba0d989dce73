#include <doctest/doctest.h>

#include "analyzers/analyzers.h"

using namespace gradsync;

namespace {

std::vector<std::vector<Cell>> rows(const std::vector<Metric>& metrics, const std::vector<Coverage>& coverage) {
  Inputs inputs;
  inputs.coverage = coverage;
  Conclusions found;
  for (const Metric& metric : metrics) found.metrics.add(metric);
  make_measured_by()->conclude({}, inputs, found);
  return found.series.contains("measured_by") ? found.series.at("measured_by").rows : std::vector<std::vector<Cell>>();
}

Metric of(const char* name, const char* source) { return {name, "all", 1, 1, {}, {}, {}, source, {}}; }

const Coverage kTrace{"scheduler", "A", CoverageState::partial, "eBPF: 99 % seen", "", 7};
const Coverage kCounts{"interrupts", "C", CoverageState::collected, "", "", 0};

}  // namespace

TEST_CASE("each kind of number with its source's tier, state and loss, once") {
  const auto found =
      rows({of("irq.rate_hz", "/proc/interrupts"), of("irq.queues", "/proc/interrupts"),
            of("irq.time_share_percent", "eBPF"), of("sched.delay_max_ms", "eBPF"), of("step.time_ms", "x")},
           {kTrace, kCounts});
  REQUIRE(found.size() == 3);
  CHECK(found[0] == std::vector<Cell>{"irq.*", "/proc/interrupts", "C", "collected", std::int64_t{0}, ""});
  CHECK(found[1] == std::vector<Cell>{"irq.*", "eBPF", "A", "partial", std::int64_t{7}, "eBPF: 99 % seen"});
  CHECK(std::get<std::string>(found[2][0]) == "sched.*");
}

TEST_CASE("where handlers were timed alone, that trace tells of them; counters of the kernel are tier C") {
  const Coverage times{"interrupt times", "B", CoverageState::collected, "", "", 2};
  const auto found = rows({of("irq.time_share_percent", "perf rings"), of("nic.drops_per_s", "/sys")},
                          {kTrace, times, {"network interfaces", "", CoverageState::collected, "", "", 0}});
  REQUIRE(found.size() == 2);
  CHECK(std::get<std::string>(found[0][2]) == "B");
  CHECK(std::get<std::int64_t>(found[0][4]) == 2);
  CHECK(std::get<std::string>(found[1][2]) == "C");
}

TEST_CASE("of several hosts a row each; of a file's numbers nothing is known; without any there is no table") {
  Coverage other = kTrace;
  other.reason = "on b: eBPF";
  CHECK(rows({of("sched.delay_max_ms", "eBPF")}, {kTrace, other}).size() == 2);
  const auto file = rows({of("sched.delay_max_ms", "perf script")}, {});
  REQUIRE(file.size() == 1);
  CHECK(std::get<std::string>(file[0][3]) == "not known");
  CHECK(rows({of("step.time_ms", "x")}, {kTrace}).empty());
}
