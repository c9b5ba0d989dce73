#include "src/hosttext/pmu_terms.h"

#include <charconv>

#include "src/base/cpu_list.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_value(std::string_view text) {
  return text.starts_with("0x") ? parse_number(text.substr(2), 16) : parse_number(text, 10);
}

// Puts `value` into the bits that `format` names, the lowest bit first.
bool place(std::uint64_t value, std::string_view format, PmuConfig& config) {
  const std::size_t colon = format.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = format.substr(0, colon);
  std::uint64_t* const target = word == "config"    ? &config.config
                                : word == "config1" ? &config.config1
                                : word == "config2" ? &config.config2
                                                    : nullptr;
  const std::optional<CpuList> bits = parse_cpu_list(format.substr(colon + 1));  // written as lists of CPUs are
  if (target == nullptr || !bits) return false;
  for (const int bit : *bits) {
    if (bit > 63) return false;
    *target |= (value & 1) << bit;
    value >>= 1;
  }
  return value == 0;
}

}  // namespace

std::optional<PmuConfig> parse_pmu_terms(std::string_view terms, const std::map<std::string, std::string>& formats) {
  PmuConfig config;
  terms = trim(terms);
  while (!terms.empty()) {
    const std::string_view term = trim(terms.substr(0, terms.find(',')));
    terms.remove_prefix(
        std::min(terms.size(), terms.find(',') == std::string_view::npos ? terms.size() : terms.find(',') + 1));
    const std::size_t equals = term.find('=');
    const std::optional<std::uint64_t> value =
        equals == std::string_view::npos ? std::optional<std::uint64_t>(1) : parse_value(term.substr(equals + 1));
    const auto format = formats.find(std::string(term.substr(0, equals)));
    if (!value || format == formats.end() || !place(*value, trim(format->second), config)) return std::nullopt;
  }
  return config;
}

std::optional<std::uint64_t> parse_raw_event(std::string_view name) {
  if (name.size() < 2 || name.size() > 17 || name.front() != 'r') return std::nullopt;
  return parse_number(name.substr(1), 16);
}

}  // namespace gradsync
