#include "src/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr const char* kNotFinite = "?";

std::string strip_zeros(std::string digits) {
  if (digits.find('.') == std::string::npos) return digits;
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

// "-0.0" and "-0" say nothing that "0" does not.
std::string fixed(double value, int decimals) {
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  if (digits.front() == '-' && digits.find_first_not_of("-0.") == std::string::npos) digits.erase(0, 1);
  return digits;
}

// Decimals that leave `significant` digits of a value below 1; at most 9.
int decimals_below_one(double value, int significant) {
  const double magnitude = std::abs(value);
  if (magnitude < 1e-9) return 0;
  return std::min(9, significant - 1 - static_cast<int>(std::floor(std::log10(magnitude))));
}

struct Scale {
  std::string_view unit;
  double factor;
};

constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;

// Bare letters as nccl-tests reads them.
constexpr std::array<Scale, 18> kByteUnits{{{"", 1},
                                            {"B", 1},
                                            {"K", kKi},
                                            {"k", kKi},
                                            {"KiB", kKi},
                                            {"M", kMi},
                                            {"m", kMi},
                                            {"MiB", kMi},
                                            {"G", kGi},
                                            {"g", kGi},
                                            {"GiB", kGi},
                                            {"T", kTi},
                                            {"TiB", kTi},
                                            {"kB", 1e3},
                                            {"KB", 1e3},
                                            {"MB", 1e6},
                                            {"GB", 1e9},
                                            {"TB", 1e12}}};
constexpr std::array<Scale, 6> kCountUnits{{{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
constexpr std::array<Scale, 7> kDurationUnits{
    {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};

struct Quantity {
  std::string_view number;
  std::string_view unit;
};

std::optional<Quantity> split_quantity(std::string_view text) {
  text = trim(text);
  std::size_t end = 0;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  const std::string_view number = text.substr(0, end);
  if (number.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  if (number.find('.') != number.rfind('.')) return std::nullopt;
  return Quantity{number, trim(text.substr(end))};
}

double to_double(std::string_view number) {
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
  return value;
}

Error not_a(std::string_view kind, std::string_view text, std::string_view why, std::string_view hint) {
  return Error{fmt::format("not a {}:", kind), fmt::format("'{}'", escape_controls(text)), std::string(why),
               std::string(hint), 2};
}

struct Grammar {
  std::string_view kind;
  std::string_view hint;
  std::span<const Scale> units;
};

Result<std::int64_t> parse_scaled(std::string_view text, const Grammar& grammar) {
  const auto quantity = split_quantity(text);
  if (!quantity) return not_a(grammar.kind, text, "no number", grammar.hint);
  for (const Scale& scale : grammar.units) {
    if (scale.unit != quantity->unit) continue;
    // Whole numbers exactly; "1.5" by way of a double, rounded.
    const char* end = quantity->number.data() + quantity->number.size();
    std::int64_t whole = 0, scaled = 0;
    const auto exact = std::from_chars(quantity->number.data(), end, whole);
    if (exact.ptr == end) {
      const bool fits =
          exact.ec == std::errc{} && !__builtin_mul_overflow(whole, static_cast<std::int64_t>(scale.factor), &scaled);
      if (!fits) return not_a(grammar.kind, text, "too large", grammar.hint);
      return scaled;
    }
    const double value = std::round(to_double(quantity->number) * scale.factor);
    if (!(value < 9.2e18)) return not_a(grammar.kind, text, "too large", grammar.hint);
    return static_cast<std::int64_t>(value);
  }
  const std::string why =
      quantity->unit.empty() ? "no unit" : fmt::format("unknown unit '{}'", escape_controls(quantity->unit));
  return not_a(grammar.kind, text, why, grammar.hint);
}

}  // namespace

std::string format_decimal(double value) {
  if (!std::isfinite(value)) return kNotFinite;
  const double magnitude = std::abs(value);
  if (magnitude >= 999.95) return fixed(value, 0);
  if (magnitude >= 0.995) return fixed(value, 1);
  return strip_zeros(fixed(value, decimals_below_one(value, 2)));
}

std::string format_short(double value) {
  if (!std::isfinite(value)) return kNotFinite;
  const double magnitude = std::abs(value);
  if (magnitude >= 99.95) return fixed(value, 0);
  if (magnitude >= 9.995) return strip_zeros(fixed(value, 1));
  if (magnitude >= 0.9995) return strip_zeros(fixed(value, 2));
  return strip_zeros(fixed(value, decimals_below_one(value, 3)));
}

std::string format_ms(double milliseconds) { return format_decimal(milliseconds) + " ms"; }

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kNotFinite) + " s";
  const double magnitude = std::abs(seconds);
  if (magnitude < 0.9995e-3) return format_short(seconds * 1e6) + " µs";
  if (magnitude < 0.9995) return format_decimal(seconds * 1e3) + " ms";
  if (magnitude < 119.95) return format_decimal(seconds) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(magnitude));
  const char* sign = seconds < 0 ? "-" : "";
  if (whole < 7200) return fmt::format("{}{} min {} s", sign, whole / 60, whole % 60);
  return fmt::format("{}{} h {} min", sign, whole / 3600, whole % 3600 / 60);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(bytes) >= 1023.5) {
    bytes /= 1024;
    ++unit;
  }
  return format_short(bytes) + " " + kUnits[unit];
}

std::string format_count(double count) {
  static constexpr std::array<const char*, 5> kUnits{"", "K", "M", "G", "T"};
  if (std::abs(count) < 9999.5) return format_short(count);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(count) >= 999.5) {
    count /= 1000;
    ++unit;
  }
  return format_short(count) + kUnits[unit];
}

std::string format_percent(double percent) {
  const std::string digits = format_decimal(percent);
  return (std::abs(percent) < 0.995 ? digits : strip_zeros(digits)) + " %";
}

std::string format_value(double value, std::string_view unit) {
  if (unit == "ms") return format_ms(value);
  if (unit == "us") return format_decimal(value) + " µs";
  if (unit == "percent") return format_percent(value);
  if (unit == "bytes") return format_bytes(value);
  if (unit == "1" || unit.empty()) return format_count(value);
  if (unit == "s") return format_seconds(value);
  if (unit == "hz") return format_count(value) + " Hz";
  if (unit == "per_s") return format_count(value) + " per s";
  if (unit == "gbytes_per_s") return format_short(value) + " GB/s";
  return format_short(value) + " " + std::string(unit);
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  return parse_scaled(text, {"size", "K M G, KiB MiB GiB are powers of 1024; KB MB GB of 1000", kByteUnits});
}

Result<std::int64_t> parse_count(std::string_view text) {
  return parse_scaled(text, {"count", "K M G are powers of 1000", kCountUnits});
}

Result<std::int64_t> parse_duration_ns(std::string_view text) {
  const auto quantity = split_quantity(text);
  if (quantity && quantity->unit.empty() && to_double(quantity->number) == 0) return std::int64_t{0};
  return parse_scaled(text, {"duration", "write 500ms, 2s, 3min; units: ns us ms s min h", kDurationUnits});
}

Result<double> parse_percent(std::string_view text) {
  const auto quantity = split_quantity(text);
  if (!quantity) return not_a("share", text, "no number", "write 30 %");
  if (!quantity->unit.empty() && quantity->unit != "%")
    return not_a("share", text, fmt::format("unknown unit '{}'", escape_controls(quantity->unit)), "write 30 %");
  return to_double(quantity->number);
}

}  // namespace gradsync
