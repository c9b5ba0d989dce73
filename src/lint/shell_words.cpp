#include "src/lint/shell_words.h"

#include <algorithm>
#include <cctype>

namespace gradsync {
namespace {

constexpr std::string_view kJoins[] = {"&&", "||", ";;", "|&", "|", ";", "&", "\n"};
constexpr std::string_view kKeywords[] = {"do", "then", "else", "{", "!", "time"};

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Result<std::vector<ShellCommand>> split() {
    while (at_ < text_.size()) {
      if (blank() || line_goes_on() || comment() || join() || redirection()) continue;
      const Result<std::string> word = next_word();
      if (!word) return word.error();
      add(*word);
    }
    finish("");
    return std::move(commands_);
  }

 private:
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool blank() {
    if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r') return false;
    ++at_;
    return true;
  }

  bool line_goes_on() {
    if (!sees("\\\n")) return false;
    at_ += 2;
    return true;
  }

  bool comment() {
    if (text_[at_] != '#') return false;  // only asked where a word may begin
    at_ = std::min(text_.find('\n', at_), text_.size());
    return true;
  }

  bool join() {
    if (sees("&>")) return false;
    for (const std::string_view join : kJoins) {
      if (!sees(join)) continue;
      at_ += join.size();
      finish(join == "\n" ? ";" : join);
      return true;
    }
    return false;
  }

  // [n]>, >>, >|, <, <<<, n>&m, &>
  bool redirection() {
    std::size_t end = at_;
    if (text_[end] == '&' && sees("&>"))
      ++end;
    else
      while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) ++end;
    if (end >= text_.size() || (text_[end] != '>' && text_[end] != '<')) return false;
    const char sign = text_[end];
    while (end < text_.size() && (text_[end] == sign || text_[end] == '|')) ++end;
    const bool descriptor = end < text_.size() && text_[end] == '&';
    if (descriptor) {
      ++end;
      while (end < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '-'))
        ++end;
    }
    command_.redirections.push_back({std::string(text_.substr(at_, end - at_)), ""});
    wants_target_ = !descriptor;
    at_ = end;
    return true;
  }

  Result<std::string> next_word() {
    std::string word;
    was_quoted_ = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        was_quoted_ = true;
        if (!quote(c, word))
          return Error{"cannot read the command", std::string(text_), std::string("the quote ") + c + " is not closed",
                       "quote the whole command in the other kind of quotes", 2};
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] != '\n') word += text_[at_ + 1];
        at_ += 2;
      } else if (sees("$(") || c == '`') {
        substitution(word);
      } else if (std::string_view(" \t\r\n;|&<>").find(c) != std::string_view::npos) {
        break;
      } else {
        word += c;
        ++at_;
      }
    }
    return word;
  }

  bool quote(char mark, std::string& word) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == mark) {
        ++at_;
        return true;
      }
      const bool escaped = mark == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           std::string_view("\"\\$`").find(text_[at_ + 1]) != std::string_view::npos;
      if (escaped) ++at_;
      word += text_[at_];
    }
    return false;
  }

  // As it is written, to its closing bracket.
  void substitution(std::string& word) {
    const bool backtick = text_[at_] == '`';
    int depth = 0;
    do {
      const char c = text_[at_++];
      word += c;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (backtick ? c == '`' && word.size() > 1 : c == ')' && depth == 0) return;
    } while (at_ < text_.size());
  }

  void add(const std::string& word) {
    if (wants_target_) {
      command_.redirections.back().target = word;
      wants_target_ = false;
      return;
    }
    const std::size_t sign = word.find('=');
    const bool assigns = !was_quoted_ || (sign != std::string::npos && is_name(word.substr(0, sign)));
    if (command_.words.empty() && assigns && sign != std::string::npos && is_name(word.substr(0, sign))) {
      command_.assignments.emplace_back(word.substr(0, sign), word.substr(sign + 1));
      return;
    }
    if (command_.words.empty() && (word == "export" || word == "env")) {
      exporting_ = word == "export";
      return;
    }
    const bool keyword = std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
    if (command_.words.empty() && !was_quoted_ && keyword) return;
    command_.words.push_back(word);
  }

  void finish(std::string_view join) {
    const bool nothing = command_.words.empty() && command_.assignments.empty() && command_.redirections.empty();
    command_.next = std::string(join);
    if (exporting_ && command_.words.empty())
      exported_.insert(exported_.end(), command_.assignments.begin(), command_.assignments.end());
    else if (!nothing) {
      command_.assignments.insert(command_.assignments.begin(), exported_.begin(), exported_.end());
      commands_.push_back(std::move(command_));
    }
    command_ = {};
    exporting_ = wants_target_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::vector<std::pair<std::string, std::string>> exported_;
  bool wants_target_ = false, was_quoted_ = false, exporting_ = false;
};

}  // namespace

Result<std::vector<ShellCommand>> split_shell(std::string_view text) { return Splitter(text).split(); }

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./=,:@%+{}$^~").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return std::string(word);
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace gradsync
