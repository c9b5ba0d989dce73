// The elements of a big JSON array, read through a window of about 1 MiB.
//
//   { "head": 1, "traceEvents": [ {…}, {…}, {…}, {…}, {…} ], "tail": 2 }
//                               ╰─────── window ─────╯
//                               [ {…}, {…}, {…} ]      cut at the last `}` , `{`; the brackets are written over the
//                                                      commas and the window is parsed on demand as an array
//
// A cut may fall inside an event (a nested list of objects, a text with `},{` in it). Then the window's brackets do not
// match: its last event stays incomplete and is never accepted, or nothing is. So a window that parses was cut rightly,
// and no byte has to be looked at to find its border. After any failure the rest of the window is gone through exactly,
// one event at a time (json_scan.h): a broken event costs that event and what lies between it and the next border.
// Bytes that are not UTF-8 become question marks. Memory: the window, and its tokens.
//
// Private to this folder: it speaks simdjson.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/import/byte_source.h"
#include "collectors/import/json_scan.h"
#include "src/base/result.h"

namespace gradsync {

class ElementVisitor {
 public:
  virtual ~ElementVisitor() = default;
  // Reads an element; views into it stay valid until accept() or the next read(). False: it is not well-formed.
  virtual bool read(simdjson::ondemand::object element) = 0;
  // The element that was read last is complete and part of the array.
  virtual void accept() = 0;
};

struct WindowStats {
  std::uint64_t bytes = 0;        // of JSON text
  std::uint64_t elements = 0;     // complete ones, whatever they are
  std::uint64_t not_objects = 0;  // of them: numbers, texts, lists
  std::uint64_t lost = 0;         // could not be read; a lower bound
  std::uint64_t repaired = 0;     // had bytes that are not UTF-8
  std::uint64_t windows = 0;
  std::uint64_t slow_windows = 0;  // gone through exactly
  bool closed = false;             // the array's end was there
};

struct WindowSizes {
  std::size_t window_bytes = std::size_t{1} << 20;
  std::size_t most_event_bytes = std::size_t{32} << 20;  // a longer event is lost
};

class JsonWindows {
 public:
  explicit JsonWindows(ByteSource& source, WindowSizes sizes = {});

  // Reads up to the first element. Error (without `on`): what the text is instead of a list of events.
  Result<void> find_array();
  void for_each(ElementVisitor& visitor);

  // Members of the object before and behind the array, as JSON objects of their own; valid after for_each().
  const std::string& head() const { return head_; }
  const std::string& tail() const { return tail_; }
  bool is_bare_array() const { return bare_; }
  const WindowStats& stats() const { return stats_; }

 private:
  struct WindowEnd {
    enum class How { all_read, array_closed, failed } how = How::failed;
    std::size_t at = 0;  // offset in the window: behind the `]`; failed: of the first element not accepted
  };

  std::string_view text() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void fill(std::size_t bytes);
  void consume(std::size_t bytes);
  void window(ElementVisitor& visitor);
  WindowEnd parse_window(std::size_t length, ElementVisitor& visitor);
  WindowEnd visit(simdjson::ondemand::document& document, ElementVisitor& visitor);
  void exact_until(std::uint64_t offset, ElementVisitor& visitor);
  void exact_step(ElementVisitor& visitor);
  bool parse_element(std::size_t length, ElementVisitor& visitor);
  void repair(std::size_t length);
  void resynchronise();
  void drop_unfinished();
  std::optional<std::size_t> next_event_behind_unfinished();
  void close_array();
  void collect_tail();

  ByteSource& source_;
  WindowSizes sizes_;
  simdjson::ondemand::parser parser_;
  std::vector<char> buffer_;  // one spare byte, the text, padding
  std::size_t begin_ = 1, end_ = 1;
  std::uint64_t offset_ = 0;  // of begin_ in the whole text
  bool eof_ = false, done_ = false, bare_ = false;
  unsigned failures_in_a_row_ = 0;
  int recoveries_ = 0;  // at the end of the text
  std::string head_, tail_;
  WindowStats stats_;
};

}  // namespace gradsync
