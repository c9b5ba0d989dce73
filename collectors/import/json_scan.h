// Exact, byte-by-byte look at JSON text that may be cut or broken: where a value ends, where one event of an array
// may end and the next begin, where the array of events starts. The fast path of json_windows.h needs only the
// borders; this is also what finds the way back after a broken event. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gradsync {

enum class ScanState { complete, unfinished, broken };

struct Scan {
  ScanState state = ScanState::unfinished;
  std::size_t length = 0;  // complete: bytes of the value; broken: how far it made sense
};

// The JSON value at the beginning of `text` (no white space before it). Checks what is needed to notice soon that
// something is wrong: matching brackets, no brackets where a key is due, no raw line ends in strings, no letters
// outside strings that no literal has. NaN and Infinity pass. Nesting costs one byte of memory a level.
Scan scan_value(std::string_view text);

// A border is a comma between `}` and `{` (white space allowed): probably between two events, possibly inside one.
std::optional<std::size_t> last_border(std::string_view text);
std::optional<std::size_t> next_border(std::string_view text, std::size_t from);

enum class ArrayStart { found, need_more, none };

// The array of events: the value of "traceEvents" in an object, or the whole document.
struct EventArrayStart {
  ArrayStart state = ArrayStart::none;
  std::size_t first = 0;  // found: offset behind the `[`
  std::size_t key = 0;    // found in an object: offset of the key
  bool bare = false;      // the document is the array
  std::string why;        // none: what the text is instead, in words
};
EventArrayStart find_event_array(std::string_view text);

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace gradsync
