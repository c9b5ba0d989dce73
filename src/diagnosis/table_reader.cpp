// The half of toml_tree.h that needs no TOML library.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/diagnosis/toml_tree.h"

namespace gradsync {

const TomlNode* TomlNode::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<std::size_t>(found - keys.begin())];
}

std::string_view name_of(TomlNode::Kind kind) {
  switch (kind) {
    case TomlNode::Kind::table:
      return "a table";
    case TomlNode::Kind::array:
      return "an array";
    case TomlNode::Kind::text:
      return "a string";
    case TomlNode::Kind::integer:
      return "a whole number";
    case TomlNode::Kind::real:
      return "a number";
    case TomlNode::Kind::truth:
      return "true or false";
    case TomlNode::Kind::other:
      return "a date";
  }
  return "a date";
}

Error rule_file_error(const std::string& file, int line, const std::string& key, const std::string& why,
                      const std::string& hint) {
  const std::string on = line > 0 ? fmt::format("{}:{}", file, line) : file;
  return Error{"cannot load rule file", on, key.empty() ? why : fmt::format("{}: {}", key, why), hint, 2};
}

TableReader::TableReader(const TomlNode& table, std::string file) : table_(table), file_(std::move(file)) {
  if (table.kind != TomlNode::Kind::table)
    fail(rule_file_error(file_, table.line, "", fmt::format("{} stands where a table belongs", name_of(table.kind)),
                         "write { key = value, … }"));
}

void TableReader::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void TableReader::fail(std::string_view key, const std::string& why, const std::string& hint) {
  const TomlNode* node = table_.find(key);
  fail(rule_file_error(file_, node != nullptr ? node->line : table_.line, std::string(key), why, hint));
}

const TomlNode* TableReader::any(std::string_view key) {
  known_.emplace_back(key);
  return table_.find(key);
}

const TomlNode* TableReader::expect(std::string_view key, TomlNode::Kind kind) {
  const TomlNode* node = any(key);
  if (node == nullptr || node->kind == kind) return node;
  fail(key, fmt::format("{} is expected, not {}", name_of(kind), name_of(node->kind)), "");
  return nullptr;
}

std::string TableReader::text(std::string_view key) {
  const TomlNode* node = expect(key, TomlNode::Kind::text);
  return node == nullptr ? std::string() : node->text;
}

std::string TableReader::required_text(std::string_view key) {
  std::string found = text(key);
  if (found.empty() && ok()) fail(key, "is missing", fmt::format("add {} = \"…\"", key));
  return found;
}

std::vector<std::string> TableReader::texts(std::string_view key) {
  std::vector<std::string> found;
  const TomlNode* node = expect(key, TomlNode::Kind::array);
  if (node == nullptr) return found;
  for (const TomlNode& item : node->items) {
    if (item.kind != TomlNode::Kind::text) fail(key, "only strings are expected in this array", "");
    found.push_back(item.text);
  }
  return found;
}

std::optional<std::int64_t> TableReader::integer(std::string_view key) {
  const TomlNode* node = expect(key, TomlNode::Kind::integer);
  if (node == nullptr) return std::nullopt;
  return static_cast<std::int64_t>(node->number);
}

const TomlNode* TableReader::table(std::string_view key) { return expect(key, TomlNode::Kind::table); }
const TomlNode* TableReader::array(std::string_view key) { return expect(key, TomlNode::Kind::array); }

std::optional<Error> TableReader::finish() {
  for (const std::string& key : table_.keys)
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      fail(key, "unknown key", fmt::format("known keys: {}", join(known_, ", ")));
  return error_;
}

}  // namespace gradsync
