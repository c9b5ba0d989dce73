#include "collectors/import/clock_map.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace gradsync {

TEST_CASE("without stamps a time stays what it is") { CHECK(ClockMap().map(42) == 42); }

TEST_CASE("two equal offsets shift, and leave no residual") {
  const ClockMap clock({1'000, 9'000}, {501'000, 509'000});
  CHECK(clock.map(1'000) == 501'000);
  CHECK(clock.map(5'000) == 505'000);
  CHECK(clock.map(0) == 500'000);  // outside the marks as well
  CHECK(clock.residual() == 0);
}

TEST_CASE("a drift is spread between the marks, and is the residual") {
  const ClockMap clock({0, 1'000'000}, {7'000'000, 8'000'400});  // 400 ns more in a millisecond
  CHECK(clock.map(0) == 7'000'000);
  CHECK(clock.map(500'000) == 7'500'200);
  CHECK(clock.map(1'000'000) == 8'000'400);
  CHECK(clock.residual() == 400);
  CHECK(ClockMap({0, 1'000'000}, {7'000'000, 7'999'600}).residual() == 400);
}

TEST_CASE("stamps since 1970 keep their nanoseconds") {
  const Nanoseconds base = 1'694'128'201'426'556'123;
  const ClockMap clock({base, base + 50'000'001}, {77, 50'000'078});
  CHECK(clock.map(base + 12'345'678) == 12'345'755);
}

TEST_CASE("stamps that make no sense give a defined result") {
  CHECK(ClockMap({5, 5}, {100, 900}).map(6) == 101);
  (void)ClockMap({INT64_MIN, INT64_MAX}, {INT64_MAX, INT64_MIN}).map(INT64_MAX);
}

}  // namespace gradsync
