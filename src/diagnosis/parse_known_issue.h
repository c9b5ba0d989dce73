// rules/known_issues.toml: each [[issue]] is a rule with three things more: the component whose version is asked, the
// versions, and where it was reported. It is judged like any rule, so it shows only when its symptom was measured as well.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/diagnosis/toml_tree.h"

namespace gradsync {

// The entries of the file, which live in `root`.
Result<std::vector<const TomlNode*>> known_issue_entries(const TomlNode& root, const std::string& file);

// component (fact that holds the version), since and fixed_in (one of them at least), link, dated; severity is `info`
// the title begins with "Possible: ", and it explains no other finding. All other keys are those of a rule.
Result<Rule> parse_known_issue(const TomlNode& entry, const std::string& file);

}  // namespace gradsync
