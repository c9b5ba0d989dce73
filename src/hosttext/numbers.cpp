#include "src/hosttext/numbers.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace gradsync {

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Nanoseconds> parse_fixed_ns(std::string_view text, int digits_of_1) {
  const std::size_t point = text.find('.');
  const std::optional<std::uint64_t> whole = parse_unsigned(text.substr(0, point));
  std::uint64_t unit = 1;
  for (int i = 0; i < digits_of_1; ++i) unit *= 10;
  if (!whole || *whole > static_cast<std::uint64_t>(std::numeric_limits<Nanoseconds>::max()) / unit - 1)
    return std::nullopt;
  std::uint64_t ns = *whole * unit;
  if (point == std::string_view::npos) return static_cast<Nanoseconds>(ns);
  const std::string_view digits = text.substr(point + 1);
  if (digits.empty()) return std::nullopt;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    unit /= 10;
    ns += static_cast<std::uint64_t>(c - '0') * unit;
  }
  return static_cast<Nanoseconds>(ns);
}

}  // namespace gradsync
