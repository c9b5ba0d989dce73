#include "src/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gradsync {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Range {
  char32_t first, last;
};

template <std::size_t N>
bool in_any(const std::array<Range, N>& ranges, char32_t value) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [value](const Range& range) { return value >= range.first && value <= range.last; });
}

// Marks that sit on the character before them.
constexpr std::array<Range, 7> kZeroWidth{{{0x0300, 0x036f},
                                           {0x0483, 0x0489},
                                           {0x0591, 0x05bd},
                                           {0x064b, 0x065f},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f},
                                           {0xfe20, 0xfe2f}}};

// Blocks whose characters are East Asian wide, and emoji.
constexpr std::array<Range, 10> kDoubleWidth{{{0x1100, 0x115f},
                                              {0x2e80, 0x303e},
                                              {0x3041, 0xa4cf},
                                              {0xac00, 0xd7a3},
                                              {0xf900, 0xfaff},
                                              {0xfe30, 0xfe6f},
                                              {0xff01, 0xff60},
                                              {0xffe0, 0xffe6},
                                              {0x1f300, 0x1faff},
                                              {0x20000, 0x3fffd}}};

// C0, DEL and C1; soft hyphen; zero-width and direction marks; line separators and embeddings; isolates; BOM; tags.
constexpr std::array<Range, 10> kHarmful{{{0x00, 0x1f},
                                          {0x7f, 0x9f},
                                          {0xad, 0xad},
                                          {0x61c, 0x61c},
                                          {0x180e, 0x180e},
                                          {0x200b, 0x200f},
                                          {0x2028, 0x202e},
                                          {0x2060, 0x206f},
                                          {0xfeff, 0xfeff},
                                          {0xe0000, 0xe007f}}};

int width_of(char32_t value) {
  if (value < 0x300) return 1;
  if (in_any(kZeroWidth, value)) return 0;
  return in_any(kDoubleWidth, value) ? 2 : 1;
}

std::string escape_of(const CodePoint& point) {
  if (point.value == '\n') return "\\n";
  if (point.value == '\r') return "\\r";
  if (point.value == '\t') return "\\t";
  const auto number = static_cast<unsigned>(point.value);
  return !point.valid || number < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{{{:x}}}", number);
}

constexpr std::array<std::pair<char32_t, std::string_view>, 23> kAsciiFor{
    {{0x2026, "..."}, {0x2716, "x"},  {0x2713, "ok"}, {0x2587, "#"},    {0x2022, "*"},  {0x2212, "-"},
     {0x2013, "-"},   {0x2014, "-"},  {0x2010, "-"},  {0x2265, ">="},   {0x2264, "<="}, {0xd7, "x"},
     {0xb7, "|"},     {0xb1, "+-"},   {0xb5, "u"},    {0x3bc, "u"},     {0x2192, "->"}, {0x2018, "'"},
     {0x2019, "'"},   {0x201c, "\""}, {0x201d, "\""}, {0x3b1, "alpha"}, {0xbd, "1/2"}}};

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && is_space(text[at])) ++at;
    const std::size_t start = at;
    while (at < text.size() && !is_space(text[at])) ++at;
    if (at > start) words.push_back(text.substr(start, at - start));
  }
  return words;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string join_words(std::string_view first, std::string_view second) {
  const bool both = !first.empty() && !second.empty();
  return fmt::format("{}{}{}", first, both ? " " : "", second);
}

CodePoint next_code_point(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  const CodePoint invalid{lead, 1, false};
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return invalid;
  char32_t value = lead & (0xff >> (length + 1));
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return invalid;
    value = (value << 6) | (byte(index) & 0x3f);
  }
  const char32_t smallest = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return invalid;
  return {value, length, true};
}

std::string encode_utf8(char32_t value) {
  std::string text;
  const auto add = [&text](char32_t byte) { text += static_cast<char>(byte); };
  if (value < 0x80) {
    add(value);
  } else if (value < 0x800) {
    add(0xc0 | (value >> 6));
    add(0x80 | (value & 0x3f));
  } else if (value < 0x10000) {
    add(0xe0 | (value >> 12));
    add(0x80 | ((value >> 6) & 0x3f));
    add(0x80 | (value & 0x3f));
  } else {
    add(0xf0 | (value >> 18));
    add(0x80 | ((value >> 12) & 0x3f));
    add(0x80 | ((value >> 6) & 0x3f));
    add(0x80 | (value & 0x3f));
  }
  return text;
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    columns += point.valid ? width_of(point.value) : 1;
    text.remove_prefix(point.bytes);
  }
  return columns;
}

std::size_t prefix_of_width(std::string_view text, int columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const CodePoint point = next_code_point(text.substr(bytes));
    columns -= point.valid ? width_of(point.value) : 1;
    if (columns < 0) break;
    bytes += point.bytes;
  }
  return bytes;
}

std::string shorten(std::string_view text, int columns, std::string_view ellipsis) {
  if (display_width(text) <= columns) return std::string(text);
  const int room = std::max(0, columns - display_width(ellipsis));
  return std::string(text.substr(0, prefix_of_width(text, room))) + std::string(ellipsis);
}

std::string escape_controls(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    if (!point.valid || in_any(kHarmful, point.value))
      clean += escape_of(point);
    else
      clean += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  return clean;
}

std::string to_ascii(std::string_view text) {
  std::string ascii;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const auto known = std::find_if(kAsciiFor.begin(), kAsciiFor.end(),
                                    [&](const auto& entry) { return point.valid && entry.first == point.value; });
    if (known != kAsciiFor.end())
      ascii += known->second;
    else if (point.valid && point.value < 0x80)
      ascii += static_cast<char>(point.value);
    else
      ascii += escape_of(point);
    text.remove_prefix(point.bytes);
  }
  return ascii;
}

}  // namespace gradsync
