// Loading of rule sets: the built-in one, folders of the user's own, and single thresholds.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/diagnosis/toml_tree.h"

namespace gradsync {

struct RuleFile {
  std::string name;  // "step1-exposed-communication.toml"
  std::string text;
  std::string tree{};  // the text parsed (toml_text.h); empty: not yet
};

// The file's tree: as it was parsed while the program was built, else parsed now.
Result<TomlNode> tree_of(const RuleFile& file);

// rules/*.toml as they were when the program was built, by name, parsed.
const std::vector<RuleFile>& builtin_rule_files();

// Where rules come from besides the built-in ones.
struct RuleOptions {
  std::vector<std::filesystem::path> folders;  // --rules DIR: adds rules, or replaces those with the same id
  std::vector<std::string> settings;           // --set RULE.METRIC=VALUE
  std::filesystem::path file{};                // rules --check FILE: a layer of its own, above the folders
};

Result<RuleSet> builtin_rules();
Result<RuleSet> load_rules(const RuleOptions& options);

// The rule set made of these files alone, one layer per folder: a later layer adds rules and replaces those with the
// same id, puts its name classes before the earlier ones, and replaces the verdict's texts when it has any.
// "kernels.toml" and "verdict.toml" are known by their names; every other file holds one rule.
Result<RuleSet> make_rule_set(const std::vector<std::vector<RuleFile>>& layers);

// "compress-not-overlapped.compress.serial_percent=5 %" changes that rule's threshold on that metric. The error lists
// what can be set.
Result<void> set_threshold(RuleSet& rules, std::string_view setting);

// The rules that `file` holds, of a set that was loaded with it: what `rules --check FILE` looks at.
RuleSet rules_of_file(const RuleSet& rules, const std::filesystem::path& file);

// "RULE.METRIC=VALUE" for every threshold of the rule set, with its present value.
std::vector<std::string> settable(const RuleSet& rules);

// Hands the name classes (profiler operators, ranges of native jobs) to what reads timelines.
void load_name_classes(const RuleSet& rules, Inputs& inputs);

// FNV-1a, 64 bits, in hex.
std::string fnv1a(std::string_view bytes);

}  // namespace gradsync
