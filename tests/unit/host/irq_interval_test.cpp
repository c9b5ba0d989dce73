#include "collectors/host/irq_interval.h"

#include <cmath>

#include "made_root.h"

namespace gradsync {
namespace {

const std::vector<Cell>* find_row(const Series& series, const std::string& irq, std::int64_t cpu,
                                  const std::string& source) {
  for (const std::vector<Cell>& row : series.rows)
    if (std::get<std::string>(row[1]) == irq && std::get<std::int64_t>(row[2]) == cpu &&
        std::get<std::string>(row[9]) == source)
      return &row;
  return nullptr;
}

TEST_CASE("two looks give interrupts, softirqs and their time over the interval, never since boot") {
  const MadeRoot root("holes");
  const Result<IrqCounters> before = read_irq_counters(root.roots(), 100);
  root.after(10);
  const Result<IrqCounters> after = read_irq_counters(root.roots(), 110);
  REQUIRE(before);
  REQUIRE(after);
  const IrqInterval interval = irq_interval(*before, *after, "here");
  CHECK(interval.rates.seconds == 10);
  CHECK(interval.rates.per_second(38) == doctest::Approx(1500));
  CHECK(interval.rates.busiest(38) == 0);
  const Series& series = interval.series.at("irq");
  const auto* queue = find_row(series, "38", 0, "/proc/interrupts");
  REQUIRE(queue != nullptr);
  CHECK(std::get<std::int64_t>((*queue)[3]) == 15000);
  CHECK(std::get<std::string>((*queue)[7]) == "queue");
  const auto* packets = find_row(series, "NET_RX", 0, "/proc/softirqs");
  REQUIRE(packets != nullptr);
  CHECK(std::get<std::int64_t>((*packets)[3]) == 90000);
  const auto* time = find_row(series, "all", 0, "/proc/stat");
  REQUIRE(time != nullptr);
  CHECK(std::get<double>((*time)[5]) == doctest::Approx(400 * 1e6 / 100));  // 400 ticks of 10 ms
  CHECK(std::isnan(std::get<double>((*time)[4])));                          // hard ones are never counted there
  CHECK(interval.softirq_percent.at(0) == doctest::Approx(100 * 400.0 / 1400));
}

TEST_CASE("counters that stand still are a copy's: no rate is made of them") {
  const MadeRoot root("holes");
  const Result<IrqCounters> once = read_irq_counters(root.roots(), 100), again = read_irq_counters(root.roots(), 105);
  REQUIRE(once);
  REQUIRE(again);
  const IrqInterval interval = irq_interval(*once, *again, "here");
  CHECK_FALSE(interval.rates.seconds);
  CHECK(interval.rates.per_second(38) == 0);
  CHECK_FALSE(interval.series.contains("softnet"));
}

TEST_CASE("dropped packets by CPU, with counters that come round") {
  IrqCounters before, after;
  before.at_s = 0;
  after.at_s = 1;
  before.interrupts.cpus = after.interrupts.cpus = {0};
  before.interrupts.rows = {{"LOC", false, "timer", {1}}};
  after.interrupts.rows = {{"LOC", false, "timer", {2}}};
  before.softnet[0] = {0xffffffffU, 5, 0};
  after.softnet[0] = {9, 7, 1};
  const Series softnet = irq_interval(before, after, "here").series.at("softnet");
  REQUIRE(softnet.rows.size() == 1);
  CHECK(std::get<std::int64_t>(softnet.rows[0][1]) == 10);
  CHECK(std::get<std::int64_t>(softnet.rows[0][2]) == 2);
  CHECK(std::get<std::int64_t>(softnet.rows[0][3]) == 1);
}

}  // namespace
}  // namespace gradsync
