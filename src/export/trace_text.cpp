#include "src/export/trace_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "src/base/text.h"

namespace gradsync {
namespace {

// A JSON string; bytes that are not UTF-8 become U+FFFD.
void append_quoted(std::string& line, std::string_view text) {
  line += '"';
  while (!text.empty()) {
    const auto special = std::find_if(text.begin(), text.end(), [](char c) {
      return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x80;
    });
    const auto plain = static_cast<std::size_t>(special - text.begin());
    line += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const CodePoint point = next_code_point(text);
    if (!point.valid)
      line += "\xef\xbf\xbd";
    else if (point.value == U'"' || point.value == U'\\')
      line += {'\\', static_cast<char>(point.value)};
    else if (point.value < 0x20)
      fmt::format_to(std::back_inserter(line), "\\u{:04x}", static_cast<unsigned>(point.value));
    else
      line += text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
  }
  line += '"';
}

}  // namespace

void TraceText::begin_trace(std::string_view first, int version, std::string_view clocks) {
  put_(fmt::format("{{\"{}\":{},\"clocks\":\"{}\",\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", first, version,
                   clocks));
}

void TraceText::end_trace() {
  lines_ += "\n]}\n";
  put_(lines_);
  lines_.clear();
}

void TraceText::key(std::string_view key) {
  if (!first_member_) lines_ += ',';
  first_member_ = false;
  append_quoted(lines_, key);
  lines_ += ':';
}

void TraceText::open(char phase, Track track, std::string_view name) {
  if (!first_event_) lines_ += ",\n";
  fmt::format_to(std::back_inserter(lines_), R"({{"ph":"{}","pid":{},"tid":{})", phase, track.process, track.thread);
  first_event_ = first_member_ = in_args_ = false;
  text("name", name);
}

void TraceText::time(std::string_view name, Nanoseconds time) {
  key(name);
  const auto whole = static_cast<std::uint64_t>(std::llabs(time));
  fmt::format_to(std::back_inserter(lines_), "{}{}.{:03}", time < 0 ? "-" : "", whole / 1000, whole % 1000);
}

void TraceText::number(std::string_view name, std::int64_t value) {
  key(name);
  fmt::format_to(std::back_inserter(lines_), "{}", value);
}

void TraceText::real(std::string_view name, double value) {
  if (!std::isfinite(value)) return;
  key(name);
  fmt::format_to(std::back_inserter(lines_), "{}", value);
}

void TraceText::text(std::string_view name, std::string_view value) {
  key(name);
  append_quoted(lines_, value);
}

void TraceText::args() {
  key("args");
  lines_ += '{';
  in_args_ = first_member_ = true;
}

void TraceText::close() {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  lines_ += in_args_ ? "}}" : "}";
  if (lines_.size() < kPiece) return;
  put_(lines_);
  lines_.clear();
}

void TraceText::name_process(int process, std::string_view name, int sort) {
  open('M', {process, 0}, "process_name");
  args();
  text("name", name);
  close();
  open('M', {process, 0}, "process_sort_index");
  args();
  number("sort_index", sort);
  close();
}

void TraceText::name_thread(Track track, std::string_view name, int sort) {
  open('M', track, "thread_name");
  args();
  text("name", name);
  close();
  open('M', track, "thread_sort_index");
  args();
  number("sort_index", sort);
  close();
}

}  // namespace gradsync
