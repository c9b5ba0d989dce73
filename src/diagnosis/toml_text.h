// A parsed TOML file as one string and back: built-in rules are parsed while the program is built, because the TOML
// library takes longer for them than most commands take for everything else.
//
//   node    kind letter, line, blank, then
//   t a     number of items, newline, the items; of a table each behind its key
//   s       length, colon, bytes (a key is written so too)
//   i r b   the number, newline
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/diagnosis/toml_tree.h"

namespace gradsync {

std::string write_toml_tree(const TomlNode& root);
// Nothing when the text was not written by write_toml_tree.
std::optional<TomlNode> read_toml_tree(std::string_view text);

}  // namespace gradsync
