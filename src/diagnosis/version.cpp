#include <algorithm>
#include <charconv>
#include <vector>

#include "src/diagnosis/condition.h"

namespace gradsync {
namespace {

// A dotted part: its number, and whether letters follow it (13.0a0 → 13, then 0 with letters).
struct Part {
  long number = 0;
  bool pre_release = false;
};

std::optional<std::vector<Part>> parts_of(std::string_view version) {
  if (version.starts_with('v')) version.remove_prefix(1);
  version = version.substr(0, version.find_first_of("+ "));
  std::vector<Part> parts;
  while (true) {
    const std::size_t dot = std::min(version.find('.'), version.size());
    const std::string_view word = version.substr(0, dot);
    Part part;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), part.number);
    if (read.ec != std::errc{}) return std::nullopt;
    part.pre_release = read.ptr != word.data() + word.size();
    parts.push_back(part);
    // What follows a pre-release mark ("rc1.dev3") orders builds, which no rule asks for.
    if (part.pre_release || dot == version.size()) return parts;
    version.remove_prefix(dot + 1);
  }
}

}  // namespace

std::optional<int> compare_versions(std::string_view left, std::string_view right) {
  auto a = parts_of(left), b = parts_of(right);
  if (!a || !b) return std::nullopt;
  const std::size_t length = std::max(a->size(), b->size());
  const bool pre_a = a->back().pre_release, pre_b = b->back().pre_release;
  a->resize(length);  // 2.1 is 2.1.0
  b->resize(length);
  for (std::size_t i = 0; i < length; ++i)
    if ((*a)[i].number != (*b)[i].number) return (*a)[i].number < (*b)[i].number ? -1 : 1;
  return pre_a == pre_b ? 0 : (pre_a ? -1 : 1);
}

}  // namespace gradsync
