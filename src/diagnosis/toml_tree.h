// A TOML file as a plain tree with line numbers. toml_tree.cpp is the only file that includes the TOML library,
// which is slow to compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

struct TomlNode {
  enum class Kind { table, array, text, integer, real, truth, other };
  Kind kind = Kind::other;
  std::string text;
  double number = 0;  // of an integer too
  bool truth = false;
  std::vector<TomlNode> items;    // elements of an array, values of a table
  std::vector<std::string> keys;  // of a table, one per item, sorted
  int line = 0;

  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  const TomlNode* find(std::string_view key) const;
};

// What the kind is called in an error message: "a string", "a table", …
std::string_view name_of(TomlNode::Kind kind);

Result<TomlNode> parse_toml(std::string_view text, const std::string& file);

// An error of a rule file: `key` is what is wrong, `why` says it. Exit status 2, the option's value is at fault.
Error rule_file_error(const std::string& file, int line, const std::string& key, const std::string& why,
                      const std::string& hint);

// Reads one table strictly: wrong types, missing and unknown keys become one Error, the first that was met.
// Create it, ask for every key, then check error().
class TableReader {
 public:
  TableReader(const TomlNode& table, std::string file);

  std::string required_text(std::string_view key);
  std::string text(std::string_view key);
  std::vector<std::string> texts(std::string_view key);  // an array of strings
  std::optional<std::int64_t> integer(std::string_view key);
  const TomlNode* table(std::string_view key);  // nullptr when absent
  const TomlNode* array(std::string_view key);
  const TomlNode* any(std::string_view key);

  void fail(std::string_view key, const std::string& why, const std::string& hint);
  void fail(Error error);
  // Unknown keys count: call it after the last key was read.
  std::optional<Error> finish();

  const std::string& file() const { return file_; }
  int line() const { return table_.line; }
  bool ok() const { return !error_; }

 private:
  const TomlNode* expect(std::string_view key, TomlNode::Kind kind);

  const TomlNode& table_;
  std::string file_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace gradsync
