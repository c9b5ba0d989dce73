#include "collectors/import/json_windows.h"

#include <algorithm>
#include <cstring>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostHeadBytes = std::size_t{32} << 20;
constexpr std::size_t kMostTailBytes = std::size_t{4} << 20;
constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING;

simdjson::padded_string_view padded(const char* text, std::size_t length) {
  return simdjson::padded_string_view(text, length, length + kPadding);
}

}  // namespace

JsonWindows::JsonWindows(ByteSource& source, WindowSizes sizes)
    : source_(source), sizes_(sizes), buffer_(1 + sizes.window_bytes + kPadding) {}

// Makes at least `bytes` of text available, or all that is left.
void JsonWindows::fill(std::size_t bytes) {
  if (eof_ || end_ - begin_ >= bytes) return;
  if (begin_ > 1) {
    std::memmove(buffer_.data() + 1, buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_ - 1;
    begin_ = 1;
  }
  if (buffer_.size() < 1 + bytes + kPadding) buffer_.resize(1 + bytes + kPadding);
  const std::size_t room = bytes - (end_ - begin_);
  const std::size_t count = source_.read(buffer_.data() + end_, room);
  end_ += count;
  stats_.bytes += count;
  if (count < room) eof_ = true;
}

void JsonWindows::consume(std::size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
}

Result<void> JsonWindows::find_array() {
  for (std::size_t size = sizes_.window_bytes;; size *= 2) {
    fill(size);
    const EventArrayStart start = find_event_array(text());
    if (start.state == ArrayStart::found) {
      bare_ = start.bare;
      if (!bare_) {
        const std::size_t brace = text().find('{');  // behind a byte order mark, if any
        head_ = std::string(text().substr(brace, start.key - brace)) + "\"\":0}";
      }
      consume(start.first);
      return {};
    }
    if (start.state == ArrayStart::none) return Error{"not a profiler trace", "", start.why, "", 3};
    if (eof_)
      return Error{"not a profiler trace", "",
                   trim(text()).empty() ? "it is empty" : "it ends before its list of events", "", 3};
    if (size >= kMostHeadBytes)
      return Error{"not a profiler trace", "", "no list of traceEvents in its first 32 MiB", "", 3};
  }
}

void JsonWindows::for_each(ElementVisitor& visitor) {
  while (!done_) window(visitor);
  if (stats_.closed && !bare_) collect_tail();
}

void JsonWindows::window(ElementVisitor& visitor) {
  fill(sizes_.window_bytes);
  const std::optional<std::size_t> cut = last_border(text().substr(0, sizes_.window_bytes));
  if (!cut) {
    exact_until(offset_ + std::max<std::size_t>(text().size(), 1), visitor);
    return;
  }
  ++stats_.windows;
  const std::uint64_t window_end = offset_ + *cut;
  const WindowEnd end = parse_window(*cut, visitor);
  consume(end.at);
  switch (end.how) {
    case WindowEnd::How::all_read:
      consume(1);
      break;  // the comma
    case WindowEnd::How::array_closed:
      close_array();
      break;
    case WindowEnd::How::failed:
      ++stats_.slow_windows;
      exact_until(window_end, visitor);
      break;
  }
}

// The first `length` bytes of text() as an array; the byte before and the comma behind are lent for its brackets.
JsonWindows::WindowEnd JsonWindows::parse_window(std::size_t length, ElementVisitor& visitor) {
  char* const open = buffer_.data() + begin_ - 1;
  char* const close = buffer_.data() + begin_ + length;
  const char before = *open;
  const char behind = *close;
  *open = '[';
  *close = ']';
  WindowEnd end;
  simdjson::ondemand::document document;
  if (!parser_.iterate(padded(open, length + 2)).get(document)) {
    end = visit(document, visitor);
    if (end.how == WindowEnd::How::all_read) end.at = length;
  }
  *open = before;
  *close = behind;
  return end;
}

JsonWindows::WindowEnd JsonWindows::visit(simdjson::ondemand::document& document, ElementVisitor& visitor) {
  using How = WindowEnd::How;
  const char* const base = buffer_.data() + begin_;
  const char* element_start = base;
  enum class Pending { nothing, other, object } pending = Pending::nothing;
  const auto settle = [&] {  // the element before is followed by a comma or the end: it is complete
    if (pending == Pending::nothing) return;
    ++stats_.elements;
    if (pending == Pending::object)
      visitor.accept();
    else
      ++stats_.not_objects;
  };
  const auto failed = [&] { return WindowEnd{How::failed, static_cast<std::size_t>(element_start - base)}; };

  simdjson::ondemand::array array;
  if (document.get_array().get(array)) return failed();
  simdjson::ondemand::array_iterator at, none;
  if (array.begin().get(at) || array.end().get(none)) return failed();
  for (; at != none; ++at) {
    simdjson::ondemand::value value;
    if ((*at).get(value)) return failed();
    settle();
    const std::string_view token = value.raw_json_token();
    if (token.empty()) return failed();
    element_start = token.data();
    if (token.front() == '{') {
      simdjson::ondemand::object object;
      if (value.get_object().get(object) || !visitor.read(std::move(object))) return failed();
      pending = Pending::object;
    } else {
      pending = Pending::other;
    }
  }
  settle();
  failures_in_a_row_ = 0;
  const char* next = nullptr;
  if (document.current_location().get(next)) return {How::all_read, 0};
  while (next > base && next[-1] != ']') --next;
  return {How::array_closed, static_cast<std::size_t>(next - base)};
}

void JsonWindows::exact_until(std::uint64_t offset, ElementVisitor& visitor) {
  while (!done_ && offset_ < offset) exact_step(visitor);
}

// One element, or one move forward. The next one may be beyond the buffer: then the buffer grows.
void JsonWindows::exact_step(ElementVisitor& visitor) {
  const std::string_view rest = text();
  std::size_t skip = 0;
  while (skip < rest.size() && (is_json_space(rest[skip]) || rest[skip] == ',')) ++skip;
  if (skip > 0 || rest.empty()) {
    consume(skip);
    if (skip == rest.size()) {
      if (eof_) done_ = true;
      fill(sizes_.window_bytes);
    }
    return;
  }
  if (rest.front() == ']') {
    consume(1);
    close_array();
    return;
  }
  const Scan scan = scan_value(rest);
  switch (scan.state) {
    case ScanState::complete:
      if (rest.front() != '{') {
        ++stats_.elements;
        ++stats_.not_objects;
      } else if (parse_element(scan.length, visitor)) {
        ++stats_.elements;
        visitor.accept();
        failures_in_a_row_ = 0;
      } else {
        ++stats_.lost;
      }
      consume(scan.length);
      break;
    case ScanState::broken:
      ++stats_.lost;
      resynchronise();
      break;
    case ScanState::unfinished:
      drop_unfinished();
      break;
  }
}

bool JsonWindows::parse_element(std::size_t length, ElementVisitor& visitor) {
  for (const bool repaired : {false, true}) {
    simdjson::ondemand::document document;
    const simdjson::error_code error = parser_.iterate(padded(buffer_.data() + begin_, length)).get(document);
    if (!error) {
      simdjson::ondemand::object object;
      if (document.get_object().get(object) || !visitor.read(std::move(object))) return false;
      if (repaired) ++stats_.repaired;
      return true;
    }
    if (error != simdjson::UTF8_ERROR || repaired) return false;
    repair(length);
  }
  return false;
}

void JsonWindows::repair(std::size_t length) {
  char* at = buffer_.data() + begin_;
  std::string_view rest(at, length);
  while (!rest.empty()) {
    const CodePoint point = next_code_point(rest);
    if (!point.valid) *at = '?';
    at += point.bytes;
    rest.remove_prefix(point.bytes);
  }
}

// To the next border. The more failures in a row the further it leaps, so that junk costs linear time.
void JsonWindows::resynchronise() {
  const std::size_t leap = std::size_t{1} << std::min(failures_in_a_row_++, 20U);
  const std::optional<std::size_t> border = next_border(text(), std::min(leap, text().size()));
  consume(border ? *border : text().size());
}

// The element at the front does not end in the buffer.
void JsonWindows::drop_unfinished() {
  const std::size_t held = text().size();
  if (eof_) {
    const std::optional<std::size_t> border = next_event_behind_unfinished();
    if (border) ++stats_.lost;
    consume(border ? *border : held);
  } else if (held < sizes_.most_event_bytes) {
    fill(std::min(std::max(2 * held, sizes_.window_bytes), sizes_.most_event_bytes));
  } else {
    ++stats_.lost;
    consume(last_border(text()).value_or(held));
  }
}

// An element that does not end before the text does: normally the file is cut there. But a lost bracket looks the same,
// and then whole events follow: a border with one behind it is searched for, a few times.
std::optional<std::size_t> JsonWindows::next_event_behind_unfinished() {
  constexpr int tries = 16, recoveries = 16;
  if (recoveries_ == recoveries) return std::nullopt;
  std::optional<std::size_t> border = next_border(text(), 1);
  for (int i = 0; i < tries && border; ++i, border = next_border(text(), *border + 1)) {
    const std::string_view element = trim(text().substr(*border + 1));
    const Scan scan = scan_value(element);
    if (scan.state != ScanState::complete || element.substr(0, scan.length).find("\"ph\"") == std::string_view::npos)
      continue;
    ++recoveries_;
    return border;
  }
  return std::nullopt;
}

void JsonWindows::close_array() {
  stats_.closed = true;
  done_ = true;
}

void JsonWindows::collect_tail() {
  fill(kMostTailBytes);
  tail_ = "{\"\":0" + std::string(trim(text()));
  if (!tail_.ends_with('}')) tail_ += '}';
}

}  // namespace gradsync
