#include "src/base/cpu_list.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr int kMostCpus = 65536;

std::optional<int> parse_number(std::string_view text, int base) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// The text before the next comma, taken off `rest`.
std::string_view take_part(std::string_view& rest) {
  const std::size_t length = std::min(rest.find(','), rest.size());
  const std::string_view part = rest.substr(0, length);
  rest.remove_prefix(std::min(length + 1, rest.size()));
  return part;
}

void sort_unique(CpuList& cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
}

}  // namespace

std::optional<CpuList> parse_cpu_list(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.ends_with(',')) return std::nullopt;
  CpuList cpus;
  while (!rest.empty()) {
    const std::string_view part = take_part(rest);
    const std::size_t dash = part.find('-');
    const auto first = parse_number(part.substr(0, dash), 10);
    const auto last = dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1), 10);
    if (!first || !last || *last < *first || *last >= kMostCpus) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  sort_unique(cpus);
  return cpus;
}

std::optional<CpuList> parse_cpu_mask(std::string_view text) {
  std::string digits;
  for (const char c : trim(text))
    if (c != ',') digits += c;
  if (digits.empty() || digits.size() > kMostCpus / 4) return std::nullopt;
  CpuList cpus;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto value = parse_number(std::string_view(digits).substr(digits.size() - 1 - i, 1), 16);
    if (!value) return std::nullopt;
    for (int bit = 0; bit < 4; ++bit)
      if ((*value >> bit & 1) != 0) cpus.push_back(static_cast<int>(i) * 4 + bit);
  }
  return cpus;
}

std::string format_cpu_list(const CpuList& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

bool contains(const CpuList& cpus, int cpu) { return std::binary_search(cpus.begin(), cpus.end(), cpu); }

CpuList common(const CpuList& a, const CpuList& b) {
  CpuList both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

CpuList without(const CpuList& cpus, const CpuList& removed) {
  CpuList left;
  std::set_difference(cpus.begin(), cpus.end(), removed.begin(), removed.end(), std::back_inserter(left));
  return left;
}

CpuList joined(const CpuList& a, const CpuList& b) {
  CpuList all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

}  // namespace gradsync
