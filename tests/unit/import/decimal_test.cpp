#include "collectors/import/decimal.h"

#include <doctest/doctest.h>

#include <string>

namespace gradsync {

TEST_CASE("stamps become nanoseconds digit by digit") {
  struct Case {
    const char* text;
    std::optional<Nanoseconds> expected;
  };
  const Case cases[] = {
      {"0", 0},
      {"72", 72'000},
      {"12.5", 12'500},
      {"0.001", 1},
      {"4458677009853.422", 4'458'677'009'853'422},
      {"1694128201426556", 1'694'128'201'426'556'000},      // since 1970, torch before 2.3
      {"1694128201426556.123", 1'694'128'201'426'556'123},  // a double would say …556.000
      {"4458677009836.0586", 4'458'677'009'836'059},        // what json.dump makes of .059
      {"0.0004999", 0},                                     // rounded to the nanosecond
      {"0.0005", 1},
      {"-5.25", -5'250},
      {"1.5e3", 1'500'000},
      {"1E+2", 100'000},
      {"25e-4", 3},
      {"9223372036854775.806", 9'223'372'036'854'775'806},  // the last one that fits
      {"9223372036854775.808", std::nullopt},
      {"92233720368547758070", std::nullopt},  // 20 digits
      {"0.00000000000000000000000000000000001", 0},
      {"000000000000000000000000000000000042", 42'000},
      {"", std::nullopt},
      {"NaN", std::nullopt},
      {"-", std::nullopt},
      {"12.5x", std::nullopt},
      {"12,5", std::nullopt},
      {"1e999", std::nullopt},
      {".5", std::nullopt},
      {" 5", std::nullopt},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(nanoseconds_from_us(c.text) == c.expected);
  }
}

TEST_CASE("a million digits are read in one go") {
  CHECK(nanoseconds_from_us(std::string(1'000'000, '9')) == std::nullopt);
  CHECK(nanoseconds_from_us("1." + std::string(1'000'000, '0') + "9") == 1'000);
}

TEST_CASE("whole numbers fit or are nothing") {
  CHECK(integer_from("60047") == 60'047);
  CHECK(integer_from("-1") == -1);
  CHECK(integer_from("9223372036854775807") == INT64_MAX);
  CHECK_FALSE(integer_from("10159970886766084423"));
  CHECK_FALSE(integer_from("1.5"));
  CHECK_FALSE(integer_from("NaN"));
  CHECK_FALSE(integer_from(""));
}

}  // namespace gradsync
