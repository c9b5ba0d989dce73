#include "src/hosttext/irq_times.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("time in handlers per CPU; hard interrupts are cut out of the softirq they hit") {
  IrqTimes times;
  times.soft_entry(1000, 0, "NET_RX");
  times.hard_entry(2000, 0, "37", "eth0-TxRx-0");
  times.hard_entry(2100, 1, "37", "eth0-TxRx-0");  // another CPU at the same time
  times.hard_exit(2500, 0, "37");
  times.hard_exit(2600, 1, "37");
  times.soft_exit(5000, 0, "NET_RX");
  const std::vector<IrqTime> rows = times.all();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].id == "37");
  CHECK(rows[0].cpu == 0);
  CHECK(rows[0].time == 500);
  CHECK(rows[1].cpu == 1);
  CHECK(rows[2].soft);
  CHECK(rows[2].time == 3500);
  CHECK(rows[2].count == 1);
  CHECK(times.unpaired() == 0);
}

TEST_CASE("what began before the text or ends after it is left out and counted") {
  IrqTimes times;
  times.hard_exit(1000, 0, "37");  // its entry is not there
  times.soft_entry(2000, 0, "RCU");
  times.soft_exit(2500, 0, "TIMER");        // of another
  times.hard_entry(1500, 0, "37", "eth0");  // goes back in time
  times.hard_entry(3000, 0, "37", "eth0");  // still open, as is RCU
  CHECK(times.all().empty());
  CHECK(times.unpaired() == 5);
}

}  // namespace gradsync
