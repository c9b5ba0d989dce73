#include "src/base/text.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("words and trimming") {
  CHECK(trim(" \t a b \n") == "a b");
  CHECK(trim(" \r\n").empty());
  CHECK(split_words("  one two\n\tthree ") == std::vector<std::string_view>{"one", "two", "three"});
  CHECK(split_words("").empty());
  CHECK(join({"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join_words("a", "b") == "a b");
  CHECK(join_words("", "b") == "b");
  CHECK(join_words("a", "") == "a");
}

TEST_CASE("code points: shortest forms of scalar values, anything else one byte at a time") {
  struct Case {
    const char* text;
    char32_t value;
    std::size_t bytes;
    bool valid;
  };
  const Case cases[] = {
      {"a", 'a', 1, true},
      {"\xc3\xa9", 0xe9, 2, true},
      {"\xe2\x80\xa6", 0x2026, 3, true},
      {"\xf0\x9f\x98\x80", 0x1f600, 4, true},
      {"\xc0\x80", 0xc0, 1, false},          // NUL written too long
      {"\xe0\x80\x80", 0xe0, 1, false},      // the same in three bytes
      {"\xed\xa0\x80", 0xed, 1, false},      // half of a surrogate pair
      {"\xf4\x90\x80\x80", 0xf4, 1, false},  // above U+10FFFF
      {"\xe2\x80", 0xe2, 1, false},          // cut
      {"\x80", 0x80, 1, false},              // continuation without a lead
      {"", 0, 0, true},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const CodePoint point = next_code_point(c.text);
    CHECK(point.value == c.value);
    CHECK(point.bytes == c.bytes);
    CHECK(point.valid == c.valid);
    if (c.valid) CHECK(encode_utf8(c.value).substr(0, c.bytes) == std::string(c.text, c.bytes));
  }
}

TEST_CASE("columns on a terminal") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("✖ ✓ ? · … ≥ − ▇ µ") == 17);
  CHECK(display_width("e\xcc\x81") == 1);  // e and a combining acute
  CHECK(display_width("慢") == 2);
  CHECK(display_width("\xff") == 1);
  CHECK(prefix_of_width("慢梯度", 5) == 6);  // two characters of two columns; half a one is not taken
  CHECK(shorten("gradient", 8, "…") == "gradient");
  CHECK(shorten("gradients", 8, "…") == "gradien…");
  CHECK(shorten("慢梯度", 4, "…") == "慢…");
}

TEST_CASE("strings from the job cannot steer the terminal") {
  CHECK(escape_controls("train.py:87 in topk_hook") == "train.py:87 in topk_hook");
  CHECK(escape_controls("\x1b[2Jgone\r\n\tx") == "\\x1b[2Jgone\\r\\n\\tx");
  CHECK(escape_controls(std::string_view("a\0b\x7f", 4)) == "a\\x00b\\x7f");
  CHECK(escape_controls("\xc2\x9b"
                        "31m") == "\\u{9b}31m");  // C1 CSI
  CHECK(escape_controls("a\xe2\x80\xae"
                        "b") == "a\\u{202e}b");                                // right-to-left override
  CHECK(escape_controls("\xe2\x80\xa8\xef\xbb\xbf") == "\\u{2028}\\u{feff}");  // line separator, BOM
  CHECK(escape_controls("caf\xc3\xa9 \xff") == "caf\xc3\xa9 \\xff");
}

TEST_CASE("ASCII for terminals without UTF-8") {
  CHECK(to_ascii("5.8 … 8.4 ≥ −1 µs 2.2×") == "5.8 ... 8.4 >= -1 us 2.2x");
  CHECK(to_ascii("✖ ✓ ▇ • · →") == "x ok # * | ->");
  CHECK(to_ascii("caf\xc3\xa9 \xff") == "caf\\u{e9} \\xff");
}

}  // namespace gradsync
