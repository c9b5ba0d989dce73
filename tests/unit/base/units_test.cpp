#include "src/base/units.h"

#include <doctest/doctest.h>

#include <limits>

namespace gradsync {

TEST_CASE("milliseconds keep as many digits as are worth reading") {
  CHECK(format_ms(142) == "142.0 ms");
  CHECK(format_ms(17.34) == "17.3 ms");
  CHECK(format_ms(1234.5) == "1234 ms");
  CHECK(format_ms(999.96) == "1000 ms");
  CHECK(format_ms(0.999) == "1.0 ms");
  CHECK(format_ms(0.42) == "0.42 ms");
  CHECK(format_ms(0.4) == "0.4 ms");
  CHECK(format_ms(0.000123) == "0.00012 ms");
  CHECK(format_ms(0) == "0 ms");
  CHECK(format_ms(-0.0) == "0 ms");
  CHECK(format_ms(-3.21) == "-3.2 ms");
  CHECK(format_ms(std::numeric_limits<double>::quiet_NaN()) == "? ms");
}

TEST_CASE("short numbers have three significant digits") {
  CHECK(format_short(2.25) == "2.25");
  CHECK(format_short(2) == "2");
  CHECK(format_short(12.54) == "12.5");
  CHECK(format_short(99.96) == "100");
  CHECK(format_short(1234.4) == "1234");
  CHECK(format_short(0.12345) == "0.123");
  CHECK(format_short(1e-12) == "0");
  CHECK(format_short(std::numeric_limits<double>::infinity()) == "?");
}

TEST_CASE("durations, sizes, counts and shares") {
  CHECK(format_seconds(21.4) == "21.4 s");
  CHECK(format_seconds(0.0083) == "8.3 ms");
  CHECK(format_seconds(0.00035) == "350 µs");
  CHECK(format_seconds(185) == "3 min 5 s");
  CHECK(format_seconds(7400) == "2 h 3 min");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1023.9) == "1 KiB");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes(4 << 20) == "4 MiB");
  CHECK(format_bytes(1010 * 1024) == "1010 KiB");
  CHECK(format_count(161) == "161");
  CHECK(format_count(2.25) == "2.25");
  CHECK(format_count(9999) == "9999");
  CHECK(format_count(25.6e6) == "25.6M");
  CHECK(format_count(999999) == "1M");
  CHECK(format_percent(6.1) == "6.1 %");
  CHECK(format_percent(98) == "98 %");
  CHECK(format_percent(0.34) == "0.34 %");
  CHECK(format_percent(100) == "100 %");
}

TEST_CASE("metric values by their unit") {
  CHECK(format_value(8.3, "ms") == "8.3 ms");
  CHECK(format_value(12.3, "us") == "12.3 µs");
  CHECK(format_value(4194304, "bytes") == "4 MiB");
  CHECK(format_value(161, "1") == "161");
  CHECK(format_value(12.5, "gbytes_per_s") == "12.5 GB/s");
  CHECK(format_value(40, "per_s") == "40 per s");
  CHECK(format_value(250, "hz") == "250 Hz");
  CHECK(format_value(3, "apples") == "3 apples");
}

TEST_CASE("sizes are read as nccl-tests reads them") {
  struct Case {
    const char* text;
    std::int64_t bytes;
  };
  const Case cases[] = {{"0", 0},
                        {"512", 512},
                        {"512B", 512},
                        {"8K", 8192},
                        {"8k", 8192},
                        {"4M", 4 << 20},
                        {"4MiB", 4 << 20},
                        {"4MB", 4'000'000},
                        {" 1.5 KiB ", 1536},
                        {"1G", std::int64_t{1} << 30},
                        {"2kB", 2000},
                        {".5K", 512},
                        {"9223372036854775807", std::numeric_limits<std::int64_t>::max()}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto bytes = parse_bytes(c.text);
    REQUIRE(bytes);
    CHECK(*bytes == c.bytes);
  }
}

TEST_CASE("sizes that are refused, and why") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {{"", "not a size: '': no number"},
                        {"M", "not a size: 'M': no number"},
                        {"-1", "not a size: '-1': no number"},
                        {"nan", "not a size: 'nan': no number"},
                        {"1.2.3K", "not a size: '1.2.3K': no number"},
                        {"10Mb", "not a size: '10Mb': unknown unit 'Mb'"},
                        {"1e6", "not a size: '1e6': unknown unit 'e6'"},
                        {"4M\x1b", "not a size: '4M\\x1b': unknown unit 'M\\x1b'"},
                        {"9223372036854775808", "not a size: '9223372036854775808': too large"},
                        {"9000000T", "not a size: '9000000T': too large"},
                        {"9000000.5T", "not a size: '9000000.5T': too large"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto bytes = parse_bytes(c.text);
    REQUIRE(!bytes);
    CHECK(bytes.error().message() == c.message);
    CHECK(bytes.error().exit_status == 2);
    CHECK(!bytes.error().hint.empty());
  }
}

TEST_CASE("counts, durations and shares") {
  CHECK(*parse_count("25.6M") == 25'600'000);
  CHECK(*parse_count("161") == 161);
  CHECK(*parse_count("10K") == 10'000);
  CHECK(parse_count("4MiB").error().message() == "not a count: '4MiB': unknown unit 'MiB'");
  CHECK(*parse_duration_ns("500ms") == 500'000'000);
  CHECK(*parse_duration_ns("2s") == 2'000'000'000);
  CHECK(*parse_duration_ns("1.5 s") == 1'500'000'000);
  CHECK(*parse_duration_ns("20us") == 20'000);
  CHECK(*parse_duration_ns("3min") == 180'000'000'000);
  CHECK(*parse_duration_ns("0") == 0);
  CHECK(parse_duration_ns("5").error().message() == "not a duration: '5': no unit");
  CHECK(parse_duration_ns("5m").error().message() == "not a duration: '5m': unknown unit 'm'");
  CHECK(*parse_percent("30 %") == 30.0);
  CHECK(*parse_percent("0.5%") == 0.5);
  CHECK(*parse_percent("12") == 12.0);
  CHECK(parse_percent("30 ms").error().message() == "not a share: '30 ms': unknown unit 'ms'");
}

TEST_CASE("what is printed can be read again") {
  for (const double bytes : {1.0, 512.0, 4096.0, 1536.0, 4194304.0, 25.0 * 1024 * 1024})
    CHECK(*parse_bytes(format_bytes(bytes)) == static_cast<std::int64_t>(bytes));
  for (const double count : {1.0, 161.0, 25.6e6, 10000.0})
    CHECK(*parse_count(format_count(count)) == static_cast<std::int64_t>(count));
  CHECK(*parse_duration_ns(format_seconds(0.0083)) == 8'300'000);
  CHECK(*parse_duration_ns(format_seconds(0.00035)) == 350'000);
  CHECK(*parse_percent(format_percent(6.1)) == 6.1);
}

}  // namespace gradsync
