#include "collectors/import/decimal.h"

#include <charconv>

namespace gradsync {
namespace {

constexpr std::uint64_t kMost = INT64_MAX;
constexpr int kMostDigits = 19;  // 10^19 fits in 64 bits without sign

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits and the power of ten that belongs to the last one kept. Beyond 19 significant digits only the power moves.
struct Digits {
  std::uint64_t value = 0;
  std::int64_t exponent = 0;
  int kept = 0;

  void add(char digit, bool fraction) {
    if (kept < kMostDigits) {
      value = value * 10 + static_cast<std::uint64_t>(digit - '0');
      if (value != 0) ++kept;
      if (fraction) --exponent;
    } else if (!fraction) {
      ++exponent;
    }
  }
};

std::optional<std::int64_t> scaled(std::uint64_t value, std::int64_t exponent) {
  if (value == 0) return 0;
  for (; exponent > 0; --exponent) {
    if (value > kMost / 10) return std::nullopt;
    value *= 10;
  }
  bool up = false;
  for (; exponent < 0 && value != 0; ++exponent) {
    up = value % 10 >= 5;
    value /= 10;
  }
  if (exponent < 0) return 0;
  if (value >= kMost) return std::nullopt;
  return static_cast<std::int64_t>(value + (up ? 1 : 0));
}

}  // namespace

std::optional<Nanoseconds> nanoseconds_from_us(std::string_view microseconds) {
  const char* at = microseconds.data();
  const char* const end = at + microseconds.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  Digits digits;
  const char* const first = at;
  for (; at != end && is_digit(*at); ++at) digits.add(*at, false);
  if (at == first) return std::nullopt;
  if (at != end && *at == '.')
    for (++at; at != end && is_digit(*at); ++at) digits.add(*at, true);
  if (at != end && (*at == 'e' || *at == 'E')) {
    if (++at != end && *at == '+') ++at;
    int exponent = 0;
    const auto parsed = std::from_chars(at, end, exponent);
    if (parsed.ec != std::errc{} || exponent > 40 || exponent < -400) return std::nullopt;
    digits.exponent += exponent;
    at = parsed.ptr;
  }
  if (at != end) return std::nullopt;
  const std::optional<std::int64_t> value = scaled(digits.value, digits.exponent + 3);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

std::optional<std::int64_t> integer_from(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace gradsync
