// One rule file → Rule. The keys are explained in rules/README.md.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/diagnosis/toml_tree.h"

namespace gradsync {

Result<Rule> parse_rule(const TomlNode& root, const std::string& file);

}  // namespace gradsync
