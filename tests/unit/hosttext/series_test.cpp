#include "src/hosttext/series.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {

TEST_CASE("the contract's columns come first, and what is not known is not a number") {
  const Series sched = sched_series({unknown_wait("python3:7")}, "perf sched latency");
  const std::vector<std::string> contract{"thread", "count",      "p50_us",      "p99_us",
                                          "max_us", "migrations", "preempted_by"};
  CHECK(std::vector<std::string>(sched.columns.begin(), sched.columns.begin() + 7) == contract);
  REQUIRE(sched.rows.size() == 1);
  REQUIRE(sched.rows[0].size() == sched.columns.size());
  CHECK(sched.rows[0][0] == Cell{"python3:7"});
  for (const std::size_t column : {2, 3, 4, 5}) CHECK(std::isnan(std::get<double>(sched.rows[0][column])));

  InterruptCount count{"37", "eth0-TxRx-1", true, interrupt_vector("eth0-TxRx-1"), 5, 12};
  const Series irq = irq_series({count}, {"/proc/interrupts", "node7", std::nullopt});
  const std::vector<std::string> irq_contract{"device", "irq", "cpu", "count", "hard_us", "soft_us"};
  CHECK(std::vector<std::string>(irq.columns.begin(), irq.columns.begin() + 6) == irq_contract);
  REQUIRE(irq.rows.size() == 1);
  CHECK(irq.rows[0][0] == Cell{"eth0"});
  CHECK(irq.rows[0][3] == Cell{std::int64_t{12}});
  CHECK(std::isnan(std::get<double>(irq.rows[0][4])));
  CHECK(irq.rows[0][7] == Cell{"queue"});
  CHECK(std::isnan(std::get<double>(irq.rows[0][8])));

  const Series timed = irq_series({IrqTime{"NET_RX", "", 1, true, 3, 4500}}, {"perf script", "node7", 2.0});
  CHECK(std::isnan(std::get<double>(timed.rows[0][4])));
  CHECK(std::get<double>(timed.rows[0][5]) == doctest::Approx(4.5));
  CHECK(timed.rows[0][7] == Cell{"softirq"});
  CHECK(timed.rows[0][10] == Cell{"node7"});
}

}  // namespace gradsync
