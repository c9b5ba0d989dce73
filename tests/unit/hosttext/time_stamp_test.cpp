#include "src/hosttext/time_stamp.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("the lines with a time that people put before a snapshot") {
  struct Case {
    const char* line;
    std::optional<TimeStamp> stamp;
  };
  const double day = 1795910400;  // 2026-11-29
  const Case cases[] = {
      {"1795956262.25", TimeStamp{StampKind::epoch, 1795956262.25}},
      {"Timestamp: 1795956262", TimeStamp{StampKind::epoch, 1795956262}},
      {"2026-11-29 12:44:22", TimeStamp{StampKind::date, day + 45862}},
      {"2026-11-29T12:44:22+00:00", TimeStamp{StampKind::date, day + 45862}},
      {"# 2026-11-29 12:44:22.5 node7", TimeStamp{StampKind::date, day + 45862.5}},
      {"Sun Nov 29 12:44:22 UTC 2026", TimeStamp{StampKind::time_of_day, 45862}},
      {"ERR: 1795956262", std::nullopt},  // a row of the table
      {"42", std::nullopt},
      {"2026-13-29", std::nullopt},
      {"25:00:00", std::nullopt},
      {" 24:          1          0  PCI-MSIX-0000:00:01.0   0-edge      eth0", std::nullopt},
      {"", std::nullopt},
  };
  for (const Case& c : cases) {
    CAPTURE(c.line);
    CHECK(parse_time_stamp(c.line) == c.stamp);
  }
}

TEST_CASE("stamps make an interval when they are of one kind and go forward") {
  const auto stamp = [](double seconds, StampKind kind = StampKind::epoch) { return TimeStamp{kind, seconds}; };
  CHECK(seconds_between(stamp(100), stamp(110)) == doctest::Approx(10));
  CHECK_FALSE(seconds_between(stamp(110), stamp(100)));
  CHECK_FALSE(seconds_between(stamp(100), stamp(100)));
  CHECK_FALSE(seconds_between(stamp(100), stamp(200, StampKind::time_of_day)));
  CHECK(seconds_between(stamp(86395, StampKind::time_of_day), stamp(5, StampKind::time_of_day)) == doctest::Approx(10));
}

}  // namespace gradsync
