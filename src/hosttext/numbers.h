// Numbers as /proc and perf print them. Nothing where the text is not one as a whole, or does not fit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/model/event.h"

namespace gradsync {

std::optional<std::uint64_t> parse_unsigned(std::string_view text);                 // digits alone
std::optional<Nanoseconds> parse_fixed_ns(std::string_view text, int digits_of_1);  // below

// "1942.669762" with digits_of_1 = 9: a second has 9 digits of nanoseconds → 1942669762000. "0.297" with 6 (a
// millisecond) → 297000. No sign, no exponent; digits beyond the nanosecond are cut off.
inline std::optional<Nanoseconds> parse_seconds(std::string_view text) { return parse_fixed_ns(text, 9); }
inline std::optional<Nanoseconds> parse_milliseconds(std::string_view text) { return parse_fixed_ns(text, 6); }

inline double to_us(Nanoseconds ns) { return static_cast<double>(ns) * 1e-3; }

}  // namespace gradsync
