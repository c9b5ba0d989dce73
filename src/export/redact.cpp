#include "src/export/redact.h"

#include <algorithm>
#include <array>

namespace gradsync {
namespace {

constexpr std::array<std::string_view, 2> kHomes{"/home/", "/Users/"};
constexpr std::array<std::string_view, 5> kSecrets{"key", "token", "secret", "password", "passwd"};
constexpr std::size_t kLongestName = 64, kLongestValue = 4096;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || (c & 0x80) != 0;
}
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::size_t word_end(std::string_view bytes, std::size_t at) {
  while (at < bytes.size() && is_word(bytes[at])) ++at;
  return at;
}

class Mask {
 public:
  Mask(char* bytes, std::size_t size)
      : own_(bytes), bytes_(bytes, size), is_json_(size > 0 && (bytes[0] == '{' || bytes[0] == '[')) {}

  void user(const std::string& name) {
    const std::string part = "/" + name;
    for (std::size_t at = bytes_.find(part); at != std::string_view::npos; at = bytes_.find(part, at + 1))
      if (word_end(bytes_, at + 1) == at + part.size()) fill(at + 1, at + part.size());
  }

  void logins() {
    constexpr std::string_view scheme = "://";
    for (std::size_t at = bytes_.find(scheme); at != std::string_view::npos; at = bytes_.find(scheme, at + 1)) {
      const std::size_t first = at + scheme.size();
      const std::size_t end = std::min(bytes_.find_first_of("@/ \t\r\n\"'\\?#", first), bytes_.size());
      if (end < bytes_.size() && bytes_[end] == '@' && end - first <= kLongestValue) fill(first, end);
    }
  }

  // `word`: the end of names whose values are secrets.
  void values_behind(std::string_view word) {
    for (std::size_t at = bytes_.find(word); at != std::string_view::npos; at = bytes_.find(word, at + word.size())) {
      const std::size_t end = at + word.size();
      std::size_t begin = at;
      while (begin > 0 && at - begin < kLongestName && is_word(bytes_[begin - 1])) --begin;
      if (stands(end, "="))
        value_at(end + 1);
      else if (bytes_[begin] == '-')
        value_of_option(end);
    }
  }

  std::size_t places() const { return places_; }

 private:
  bool stands(std::size_t at, std::string_view text) const { return bytes_.substr(at, text.size()) == text; }

  // The next argument: of a line, or of a list in JSON.
  void value_of_option(std::size_t end) {
    if (stands(end, " ")) return value_at(end + 1);
    if (!stands(end, "\",")) return;
    const std::size_t quote = bytes_.find_first_not_of(" \n", end + 2);
    if (quote != std::string_view::npos && bytes_[quote] == '"') quoted_value_at(quote + 1, '"');
  }

  // A quote of JSON ends the text that the name is in; other quotes, and those with a backslash, begin a value.
  void value_at(std::size_t at) {
    while (stands(at, " ")) ++at;
    if (stands(at, "\\\"")) return quoted_value_at(at + 2, '"');
    if (stands(at, "'") || (stands(at, "\"") && !is_json_)) return quoted_value_at(at + 1, bytes_[at]);
    fill(at, value_end(at, [](char c) { return c == '"' || c == '\'' || static_cast<unsigned char>(c) <= ' '; }));
  }

  void quoted_value_at(std::size_t at, char quote) {
    fill(at, value_end(at, [quote](char c) { return c == quote || c == '"' || static_cast<unsigned char>(c) < ' '; }));
  }

  // An escape of JSON is part of the value.
  template <class Ends>
  std::size_t value_end(std::size_t at, Ends ends) const {
    const std::size_t most = std::min(bytes_.size(), at + kLongestValue);
    while (at < most && !ends(bytes_[at])) at += bytes_[at] == '\\' && at + 1 < most ? 2 : 1;
    return std::min(at, bytes_.size());
  }

  void fill(std::size_t first, std::size_t end) {
    if (first >= end) return;
    std::fill(own_ + first, own_ + end, 'x');
    ++places_;
  }

  char* own_;
  std::string_view bytes_;  // the same
  bool is_json_;
  std::size_t places_ = 0;
};

}  // namespace

void Redactor::learn(std::string_view bytes) {
  for (const std::string_view home : kHomes)
    for (std::size_t at = bytes.find(home); at != std::string_view::npos; at = bytes.find(home, at + 1)) {
      const std::size_t first = at + home.size(), end = word_end(bytes, first);
      if (end > first && end - first <= kLongestName) users_.emplace(bytes.substr(first, end - first));
    }
}

std::size_t Redactor::mask(char* bytes, std::size_t size) const {
  Mask mask(bytes, size);
  for (const std::string& user : users_) mask.user(user);
  mask.logins();
  for (const std::string_view word : kSecrets) {
    std::string large(word);
    std::transform(large.begin(), large.end(), large.begin(), upper);
    mask.values_behind(word);
    mask.values_behind(large);
  }
  return mask.places();
}

}  // namespace gradsync
