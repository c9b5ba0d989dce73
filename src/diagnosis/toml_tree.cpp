#include "src/diagnosis/toml_tree.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <toml.hpp>

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

// "[error] toml::parse_key: unclosed quote\n --> file\n 3 | …" → "unclosed quote"
std::string first_sentence(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  for (const std::string_view noise : {std::string_view("[error] "), std::string_view("toml::")})
    if (message.starts_with(noise)) message.remove_prefix(noise.size());
  const std::size_t colon = message.find(": ");
  if (colon != std::string_view::npos && message.substr(0, colon).find(' ') == std::string_view::npos)
    message.remove_prefix(colon + 2);
  return std::string(message);
}

}  // namespace

Result<TomlNode> parse_toml(std::string_view text, const std::string& file) {
  std::istringstream stream{std::string(text)};
  try {
    return convert(toml::parse<toml::discard_comments, std::map, std::vector>(stream, file));
  } catch (const toml::exception& error) {
    return rule_file_error(file, static_cast<int>(error.location().line()), "", first_sentence(error.what()),
                           "this is not TOML; https://toml.io shows how it is written");
  } catch (const std::exception& error) {
    return rule_file_error(file, 0, "", first_sentence(error.what()), "");
  }
}

}  // namespace gradsync
