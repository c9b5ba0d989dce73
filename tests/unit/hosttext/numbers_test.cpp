#include "src/hosttext/numbers.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("seconds and milliseconds as perf prints them, to the nanosecond") {
  struct Case {
    const char* text;
    std::optional<Nanoseconds> seconds;
  };
  const Case cases[] = {
      {"1942.669762", 1942'669'762'000},
      {"0.000000001", 1},
      {"7", 7'000'000'000},
      {"0.12345678999", 123'456'789},
      {"9223372035.9", 9'223'372'035'900'000'000},
      {"9223372037", std::nullopt},  // more than 63 bits of nanoseconds
      {"99999999999999999999", std::nullopt},
      {"", std::nullopt},
      {".5", std::nullopt},
      {"1.", std::nullopt},
      {"-1.0", std::nullopt},
      {"1.5x", std::nullopt},
      {"1e3", std::nullopt},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(parse_seconds(c.text) == c.seconds);
  }
  CHECK(parse_milliseconds("0.297") == 297'000);
  CHECK(parse_milliseconds("2028.201") == 2'028'201'000);
}

}  // namespace gradsync
