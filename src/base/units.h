// Numbers with units, as the terminal prints them and as the command line and the rules write them. Pure.
//
//   printed   17.3 ms   0.42 ms   6.1 %   4 MiB   1.5 KiB   25.6M   161   21.4 s   3 min 5 s
//   read      bytes      4M, 4MiB, 4G (powers of 1024), 4MB (powers of 1000), 512, 512B
//             counts     25.6M, 10K (powers of 1000), 161
//             durations  500ms, 2s, 20us, 3min, 1h
//             shares     30 %, 0.5%, 30
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace gradsync {

// A number with as many digits as are worth reading: from 1000 none after the point, from 1 one (kept when it is 0),
// below 1 two significant ones. 142.0, 8.3, 0.42, 1234. What is not finite is "?", here and below.
std::string format_decimal(double value);

// Three significant digits, no trailing zeros: 2.25, 12.5, 161, 1234 (whole digits are never cut).
std::string format_short(double value);

std::string format_ms(double milliseconds);  // "17.3 ms"; always milliseconds, so that numbers compare at a glance
std::string format_seconds(double seconds);  // "350 µs", "8.3 ms", "21.4 s", "3 min 5 s", "2 h 3 min"
std::string format_bytes(double bytes);      // "512 B", "1.5 KiB", "4 MiB": powers of 1024
std::string format_count(double count);      // "161", "2.25", "25.6M": powers of 1000 from 10,000
std::string format_percent(double percent);  // "6.1 %", "98 %", "0.34 %"

// By the unit of a metric: ms, us, ns, s, percent, bytes, hz, per_s, gbytes_per_s, "1"; another unit is put behind.
std::string format_value(double value, std::string_view unit);

// White space around the number and before the unit is allowed; a sign is not. The error says what is allowed and
// carries exit status 2. The upper-case B is required in units of bytes: Mb is a megabit and refused.
Result<std::int64_t> parse_bytes(std::string_view text);
Result<std::int64_t> parse_count(std::string_view text);
Result<std::int64_t> parse_duration_ns(std::string_view text);  // the unit may be missing only for 0
Result<double> parse_percent(std::string_view text);

}  // namespace gradsync
