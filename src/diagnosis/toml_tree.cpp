#include "src/diagnosis/toml_tree.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <toml.hpp>

#include "src/base/text.h"

namespace gradsync {
namespace {

// Ordered, so that a rule set does not depend on a hash function.
using Value = toml::basic_value<toml::discard_comments, std::map, std::vector>;

TomlNode convert(const Value& value) {
  TomlNode node;
  node.line = static_cast<int>(value.location().line());
  switch (value.type()) {
    case toml::value_t::table:
      node.kind = TomlNode::Kind::table;
      for (const auto& [key, child] : value.as_table()) {
        node.keys.push_back(key);
        node.items.push_back(convert(child));
      }
      break;
    case toml::value_t::array:
      node.kind = TomlNode::Kind::array;
      for (const auto& child : value.as_array()) node.items.push_back(convert(child));
      break;
    case toml::value_t::string:
      node.kind = TomlNode::Kind::text;
      node.text = value.as_string().str;
      break;
    case toml::value_t::integer:
      node.kind = TomlNode::Kind::integer;
      node.number = static_cast<double>(value.as_integer());
      break;
    case toml::value_t::floating:
      node.kind = TomlNode::Kind::real;
      node.number = value.as_floating();
      break;
    case toml::value_t::boolean:
      node.kind = TomlNode::Kind::truth;
      node.truth = value.as_boolean();
      break;
    default:
      break;
  }
  return node;
}

// "[error] toml::parse_table: invalid line format\n --> file\n … ^--- expected newline, but got 'x'." →
// "invalid line format: expected newline, but got 'x'."
std::string in_one_line(std::string_view message) {
  std::string_view sentence = message.substr(0, message.find('\n'));
  for (const std::string_view noise : {std::string_view("[error] "), std::string_view("toml::")})
    if (sentence.starts_with(noise)) sentence.remove_prefix(noise.size());
  const std::size_t colon = sentence.find(": ");
  if (colon != std::string_view::npos && sentence.substr(0, colon).find(' ') == std::string_view::npos)
    sentence.remove_prefix(colon + 2);
  constexpr std::string_view kArrow = "^--- ";
  const std::size_t arrow = message.find(kArrow);
  std::string_view note = arrow == std::string_view::npos ? "" : message.substr(arrow + kArrow.size());
  note = note.substr(0, note.find('\n'));
  std::string line(sentence.empty() ? "it cannot be read" : sentence);
  if (!note.empty() && note != "here") line += fmt::format(": {}", note);
  return escape_controls(line);
}

// The library recurses once per bracket, and a file of brackets would end the stack. Brackets in strings count too: they
// come in pairs, mostly, and the limit is far away.
bool nested_too_deeply(std::string_view text) {
  constexpr int kDeepest = 200;
  int depth = 0;
  for (const char byte : text) {
    if (byte == '[' || byte == '{') ++depth;
    if ((byte == ']' || byte == '}') && depth > 0) --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

// Line of the first byte that belongs to no UTF-8 character; 0 when there is none. Version 3.7.1 of the library reads out
// of bounds while it reports such a byte inside a string.
int line_of_invalid_utf8(std::string_view text) {
  int line = 1;
  while (!text.empty()) {
    const CodePoint next = next_code_point(text);
    if (!next.valid) return line;
    line += next.value == '\n';
    text.remove_prefix(next.bytes);
  }
  return 0;
}

}  // namespace

Result<TomlNode> parse_toml(std::string_view text, const std::string& file) {
  if (const int line = line_of_invalid_utf8(text); line > 0)
    return rule_file_error(file, line, "", "a byte is not UTF-8", "save the file as UTF-8");
  if (nested_too_deeply(text)) return rule_file_error(file, 0, "", "nested too deeply", "");
  std::istringstream stream{std::string(text)};
  try {
    return convert(toml::parse<toml::discard_comments, std::map, std::vector>(stream, file));
  } catch (const toml::exception& error) {
    return rule_file_error(file, static_cast<int>(error.location().line()), "", in_one_line(error.what()),
                           "this is not TOML; https://toml.io shows how it is written");
  } catch (const std::exception& error) {
    return rule_file_error(file, 0, "", in_one_line(error.what()), "");
  }
}

}  // namespace gradsync
