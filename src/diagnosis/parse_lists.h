// kernels.toml and verdict.toml, the two files of a rule set that hold no rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/diagnosis/toml_tree.h"

namespace gradsync {

// The list `key` ("operator", "range") of name patterns and their meanings.
Result<std::vector<NameClass>> parse_name_classes(const TomlNode& root, std::string_view key, const std::string& file);

Result<VerdictTexts> parse_verdict_texts(const TomlNode& root, const std::string& file);

}  // namespace gradsync
