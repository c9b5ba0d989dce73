// Numbers of a trace from their text, without a detour over double: a double holds 53 bits, a time stamp of
// 1694128201426556.123 µs needs 61. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/model/event.h"

namespace gradsync {

// "4458677009853.422" (µs) → 4458677009853422 (ns). Sign and exponent are understood; digits beyond the nanosecond
// are rounded. Nothing when the text is not a number (NaN) or the result does not fit.
std::optional<Nanoseconds> nanoseconds_from_us(std::string_view microseconds);

// A whole number; nothing for fractions and for what does not fit in 63 bits.
std::optional<std::int64_t> integer_from(std::string_view text);

}  // namespace gradsync
