#include "src/hosttext/perf_latency.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {
namespace {

PerfLatency table_of(std::string_view text) {
  PerfLatencyParser parser;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    parser.add_line(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return parser.table();
}

constexpr const char* kNew =
    " -------------------------------------------------------------------------------------------------------\n"
    "  Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start  |\n"
    " -------------------------------------------------------------------------------------------------------\n"
    "  python3:(4)           |   2000.000 ms |      400 | avg:   2.500 ms | max:  36.002 ms | max start:  19.3 s |\n"
    "  kworker/u8:2:590      |      0.021 ms |        2 | avg:   0.314 ms | max:   0.552 ms | max start:  19.4 s |\n"
    "  odd | name:7          |      1.000 ms |        3 | avg:   0.010 ms | max:   0.020 ms | max start:  19.4 s |\n"
    " -------------------------------------------------------------------------------------------------------\n"
    "  TOTAL:                |   2001.021 ms |      405 |\n"
    " -----------------------------------------------\n"
    "  INFO: 1.769% context switch bugs (68 out of 3844)\n"
    "  INFO: 0.500% lost events (12 out of 2400, in 3 chunks)\n";

}  // namespace

TEST_CASE("the table: run time, delays, and what perf says of its own data") {
  const PerfLatency table = table_of(kNew);
  REQUIRE(table.tasks.size() == 3);
  const ThreadWait& first = table.tasks[0];
  CHECK(first.thread == "python3:(4)");
  CHECK(first.count == 400);
  CHECK(first.run_us == doctest::Approx(2e6));
  CHECK(first.mean_us == doctest::Approx(2500));
  CHECK(first.max_us == doctest::Approx(36002));
  CHECK(first.wait_us == doctest::Approx(1e6));
  CHECK(std::isnan(first.p50_us));
  CHECK(std::isnan(first.p99_us));
  CHECK(std::isnan(first.migrations));
  CHECK(table.tasks[1].thread == "kworker/u8:2:590");
  CHECK(table.tasks[2].thread == "odd | name:7");
  CHECK(table.infos.size() == 2);
  CHECK(table.lost_events == 12);
  CHECK(table.broken_rows == 0);
  CHECK_FALSE(table.without_wakeups());
}

TEST_CASE("older layout") {
  const char* const header =
      "  Task                  |   Runtime ms  | Switches | Average delay ms | Maximum delay ms | Maximum delay at |";
  CHECK(is_latency_header(header));
  const PerfLatency table = table_of(
      std::string(header) +
      "\n  ksoftirqd/0:4         |      0.338 ms |        4 | avg:    0.011 ms | max:    0.015 ms | max at: 99.5 s\n");
  REQUIRE(table.tasks.size() == 1);
  CHECK(table.tasks[0].max_us == doctest::Approx(15));
}

TEST_CASE("0.000 means that no wake-up was recorded, not that nobody waited") {
  const std::string zero = "| 1.000 ms | 9 | avg:   0.000 ms | max:   0.000 ms | max start:     0.000000 s |\n";
  const std::string seen = "| 1.000 ms | 9 | avg:   2.000 ms | max:   4.000 ms | max start:     1.000000 s |\n";
  const PerfLatency most = table_of("a:1 " + zero + "b:2 " + zero + "c:3 " + seen);
  CHECK(most.without_wakeups());
  CHECK(most.zero_tasks == 2);
  CHECK(most.tasks[0].count == 0);
  CHECK(std::isnan(most.tasks[0].max_us));
  CHECK(std::isnan(most.tasks[0].wait_us));
  const PerfLatency few = table_of("a:1 " + zero + "b:2 " + seen + "c:3 " + seen);
  CHECK_FALSE(few.without_wakeups());
}

TEST_CASE("rows that are cut or are none are counted") {
  const PerfLatency table = table_of(
      "a:1 | 1.000 ms | 9 | avg:  2.0\n"
      "b:2 | x ms | 9 | avg:   2.000 ms | max:   4.000 ms |\n"
      "| | | | |\n| avg:\navg: | max:\n" +
      std::string(5000, '|') + "\n");
  CHECK(table.tasks.empty());
  CHECK(table.broken_rows == 6);
}

}  // namespace gradsync
