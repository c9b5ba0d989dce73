// UTF-8 text for terminals: code points, columns, and strings of the job made harmless. Pure.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradsync {

std::string_view trim(std::string_view text);                      // without ASCII white space at both ends
std::vector<std::string_view> split_words(std::string_view text);  // at ASCII white space; views into `text`
// Views into a string that is gone when they are looked at: name the string first.
template <std::same_as<std::string> Temporary>
std::string_view trim(Temporary&&) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split_words(Temporary&&) = delete;
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// With a blank between, where neither is empty.
std::string join_words(std::string_view first, std::string_view second);

// One step through UTF-8: a code point and how many bytes it takes. A byte that does not belong to a shortest-form
// sequence of a scalar value is returned alone, with `valid` false.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0 only at the end of the text
  bool valid = true;
};
CodePoint next_code_point(std::string_view text);
std::string encode_utf8(char32_t code_point);

// Columns that `text` takes on a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji.
// Follows Unicode's blocks, not the locale. Escape sequences are not understood: measure before colouring.
int display_width(std::string_view text);

// Bytes of the longest beginning of `text` that is at most `columns` wide and ends between characters.
std::size_t prefix_of_width(std::string_view text, int columns);

// `text`, or its beginning and `ellipsis` when it is wider than `columns`.
std::string shorten(std::string_view text, int columns, std::string_view ellipsis);

// Strings that came from elsewhere, fit for a terminal and for one line: control characters (C0, DEL, C1), line and
// paragraph separators, characters that reorder or hide text and bytes that are not UTF-8 become visible escapes:
// \n \t \x1b \u{202e}
std::string escape_controls(std::string_view text);

// For terminals without UTF-8: the symbols this program prints become ASCII (… → ..., − → -, ≥ → >=), the rest \u{e9}.
std::string to_ascii(std::string_view text);

}  // namespace gradsync
