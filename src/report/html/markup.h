// Markup that cannot be wrong: elements close in the order in which they opened, text and values of attributes are
// escaped, and no identifier comes twice. What is written is HTML and well-formed XML at once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gradsync {

using Attributes = std::vector<std::pair<std::string_view, std::string>>;

class Markup {
 public:
  // Tags and names of attributes are ours, never the job's.
  void open(std::string_view tag, const Attributes& attributes = {});
  void close();
  void empty(std::string_view tag, const Attributes& attributes = {});  // <br/>
  void element(std::string_view tag, const Attributes& attributes, std::string_view content);
  void text(std::string_view content);
  // Style and script: constants of this program without <, > and &.
  void constant(std::string_view tag, std::string_view content);

  // An identifier made of `wanted`, with a number behind it where it is taken.
  std::string id(std::string_view wanted);

  std::size_t depth() const { return open_.size(); }
  void close_to(std::size_t depth);
  std::string take();

 private:
  void begin(std::string_view tag, const Attributes& attributes);
  std::vector<std::string> open_;
  std::map<std::string, int> ids_;
  std::string out_;
};

// "a < b" → "a &lt; b"; controls, characters that reorder text and bytes that are not UTF-8 are visible escapes.
std::string escape_markup(std::string_view text);

// A coordinate with one digit behind the point where it needs one: "12.5", "40".
std::string coordinate(double value);

}  // namespace gradsync
