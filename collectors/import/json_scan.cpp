#include "collectors/import/json_scan.h"

#include <array>

namespace gradsync {
namespace {

enum class Class : unsigned char { bad, plain, space, quote, open, close, separator };

constexpr std::array<Class, 256> make_classes() {
  std::array<Class, 256> classes{};
  for (const char c : std::string_view("0123456789+-.eEtrufalsnNIity"))  // numbers, true, false, null, NaN, Infinity
    classes[static_cast<unsigned char>(c)] = Class::plain;
  for (const char c : std::string_view(" \t\r\n")) classes[static_cast<unsigned char>(c)] = Class::space;
  classes['"'] = Class::quote;
  classes['{'] = classes['['] = Class::open;
  classes['}'] = classes[']'] = Class::close;
  classes[','] = classes[':'] = Class::separator;
  return classes;
}
constexpr std::array<Class, 256> kClasses = make_classes();

Class class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

// A string, from its opening quote.
Scan scan_string(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return {ScanState::complete, i + 1};
    if (static_cast<unsigned char>(text[i]) < 0x20) return {ScanState::broken, i};
    if (text[i] == '\\') ++i;
  }
  return {ScanState::unfinished, text.size()};
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && class_of(text[at]) == Class::space) ++at;
  return at;
}

// Walks over one value, keeping the open brackets and the last token that was not white space.
class ValueScanner {
 public:
  explicit ValueScanner(std::string_view text) : text_(text) {}

  Scan run() {
    std::size_t i = 0;
    while (i < text_.size()) {
      switch (class_of(text_[i])) {
        case Class::bad:
          return {ScanState::broken, i};
        case Class::space:
          ++i;
          break;
        case Class::quote: {
          const Scan string = scan_string(text_.substr(i));
          if (string.state != ScanState::complete) return {string.state, i + string.length};
          i += string.length;
          last_ = 'v';
          break;
        }
        case Class::plain:
          while (i < text_.size() && class_of(text_[i]) == Class::plain) ++i;
          if (i == text_.size()) return {ScanState::unfinished, i};
          last_ = 'v';
          break;
        case Class::open:
          if (!may_open()) return {ScanState::broken, i};
          open_.push_back(text_[i]);
          last_ = text_[i++];
          break;
        case Class::close:
          if (open_.empty() || open_.back() != (text_[i] == '}' ? '{' : '[')) return {ScanState::broken, i};
          open_.pop_back();
          last_ = 'v';
          ++i;
          break;
        case Class::separator:
          if (open_.empty()) return {ScanState::broken, i};
          last_ = text_[i++];
          break;
      }
      if (open_.empty() && last_ == 'v') return {ScanState::complete, i};
    }
    return {ScanState::unfinished, text_.size()};
  }

 private:
  bool may_open() const {
    if (open_.empty()) return last_ == 0;
    if (open_.back() == '{') return last_ == ':';
    return last_ == '[' || last_ == ',';
  }

  std::string_view text_;
  std::string open_;  // brackets not closed yet
  char last_ = 0;     // 'v' = a value ended here
};

bool is_border(std::string_view text, std::size_t comma) {
  std::size_t before = comma;
  while (before > 0 && class_of(text[before - 1]) == Class::space) --before;
  if (before == 0 || text[before - 1] != '}') return false;
  const std::size_t after = skip_spaces(text, comma + 1);
  return after < text.size() && text[after] == '{';
}

EventArrayStart not_a_trace(std::string why) { return {ArrayStart::none, 0, 0, false, std::move(why)}; }

EventArrayStart find_in_object(std::string_view text, std::size_t at) {
  EventArrayStart more{ArrayStart::need_more, 0, 0, false, ""};
  EventArrayStart broken = not_a_trace("it is not valid JSON");
  while (true) {
    at = skip_spaces(text, at);
    if (at < text.size() && text[at] == ',') at = skip_spaces(text, at + 1);
    if (at == text.size()) return more;
    if (text[at] == '}') return not_a_trace("it is JSON without a list of traceEvents");
    if (text[at] != '"') return broken;
    const std::size_t key = at;
    const Scan name = scan_string(text.substr(at));
    if (name.state != ScanState::complete) return name.state == ScanState::unfinished ? more : broken;
    at = skip_spaces(text, at + name.length);
    if (at == text.size()) return more;
    if (text[at] != ':') return broken;
    at = skip_spaces(text, at + 1);
    if (at == text.size()) return more;
    if (text.substr(key, name.length) == "\"traceEvents\"") {
      if (text[at] == '[') return {ArrayStart::found, at + 1, key, false, ""};
      return not_a_trace("its traceEvents are not a list");
    }
    const Scan value = scan_value(text.substr(at));
    if (value.state != ScanState::complete) return value.state == ScanState::unfinished ? more : broken;
    at += value.length;
  }
}

}  // namespace

Scan scan_value(std::string_view text) { return ValueScanner(text).run(); }

std::optional<std::size_t> last_border(std::string_view text) {
  for (std::size_t at = text.rfind(','); at != std::string_view::npos && at > 0; at = text.rfind(',', at - 1))
    if (is_border(text, at)) return at;
  return std::nullopt;
}

std::optional<std::size_t> next_border(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(',', from); at != std::string_view::npos; at = text.find(',', at + 1))
    if (is_border(text, at)) return at;
  return std::nullopt;
}

EventArrayStart find_event_array(std::string_view text) {
  const std::size_t mark = text.starts_with("\xef\xbb\xbf") ? 3 : 0;  // a byte order mark of UTF-8
  const std::size_t at = skip_spaces(text, mark);
  if (at == text.size()) return {ArrayStart::need_more, 0, 0, false, ""};
  if (text[at] == '[') return {ArrayStart::found, at + 1, 0, true, ""};
  if (text[at] == '{') return find_in_object(text, at + 1);
  return not_a_trace("it is not JSON");
}

}  // namespace gradsync
