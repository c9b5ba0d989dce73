#include "src/report/markdown/text.h"

#include <algorithm>

#include "src/base/text.h"

namespace gradsync::markdown {
namespace {

// '#' and '@' because GitHub makes issues and people of words behind them; '$' begins mathematics there.
constexpr std::string_view kMarkup = "\\`*_[]<>#|~&@$";

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string on_one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return escape_controls(line);
}

// "- x", "+ x", "12. x", "---", "===" at the beginning of a line.
bool begins_like_markup(std::string_view line) {
  if (line.empty()) return false;
  if (std::string_view("-+=").find(line.front()) != std::string_view::npos) return true;
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && (line[digits] == '.' || line[digits] == ')') &&
         (digits + 1 == line.size() || line[digits + 1] == ' ');
}

std::string reference(char c) { return "&#" + std::to_string(static_cast<int>(c)) + ";"; }

}  // namespace

std::string plain(std::string_view text) {
  const std::string clean = on_one_line(text);
  const std::string_view line = trim(clean);  // four blanks would make it code
  std::string safe;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool within = line[i] == '_' && i > 0 && i + 1 < line.size() && is_word(line[i - 1]) && is_word(line[i + 1]);
    const bool markup = kMarkup.find(line[i]) != std::string_view::npos && !within;  // a_b is no emphasis
    if (markup || (i == 0 && begins_like_markup(line)))
      safe += reference(line[i]);
    else
      safe += line[i];
  }
  return safe;
}

std::string code(std::string_view text) {
  const std::string line = on_one_line(text);
  const bool spans = !line.empty() && line.find_first_of("`|") == std::string::npos && line != " ";
  return spans ? "`" + line + "`" : "<code>" + plain(text) + "</code>";
}

}  // namespace gradsync::markdown
