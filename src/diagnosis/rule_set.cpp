#include "src/diagnosis/rule_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/diagnosis/parse_condition.h"
#include "src/diagnosis/parse_known_issue.h"
#include "src/diagnosis/parse_lists.h"
#include "src/diagnosis/parse_rule.h"
#include "src/diagnosis/toml_text.h"

namespace gradsync {
namespace {

constexpr std::size_t kLargestRuleFile = std::size_t{1} << 20;

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Result<std::vector<RuleFile>> read_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".toml") paths.push_back(entry->path());
  if (error) return Error{"cannot read rules in", folder.string(), error.message(), "--rules takes a folder", 2};
  if (paths.empty())
    return Error{"cannot read rules in", folder.string(), "no file there ends with .toml",
                 "one rule per file; rules/README.md shows the keys", 2};
  std::sort(paths.begin(), paths.end());
  std::vector<RuleFile> files;
  for (const auto& path : paths) {
    auto text = read_file(path, kLargestRuleFile);
    if (!text) return text.error();
    files.push_back({path.string(), std::move(*text)});
  }
  return files;
}

Result<void> add_name_classes(RuleSet& rules, const TomlNode& root, const std::string& file) {
  auto operators = parse_name_classes(root, "operator", file);
  if (!operators) return operators.error();
  auto ranges = parse_name_classes(root, "range", file);
  if (!ranges) return ranges.error();
  // The first pattern that matches decides: what was added last comes first.
  rules.operators.insert(rules.operators.begin(), operators->begin(), operators->end());
  rules.ranges.insert(rules.ranges.begin(), ranges->begin(), ranges->end());
  return {};
}

Result<void> add_rule(RuleSet& rules, std::set<std::string>& ids_of_layer, Result<Rule> rule, int line,
                      const std::string& file) {
  if (!rule) return rule.error();
  if (!ids_of_layer.insert(rule->id).second)
    return rule_file_error(file, line, "id", fmt::format("'{}' is taken by another file of this folder", rule->id), "");
  if (Rule* known = rules.find(rule->id))
    *known = std::move(*rule);
  else
    rules.rules.push_back(std::move(*rule));
  return {};
}

// A site's own table adds to the built-in one; an entry with the same id replaces it.
Result<void> add_known_issues(RuleSet& rules, std::set<std::string>& ids_of_layer, const TomlNode& root,
                              const std::string& file) {
  auto entries = known_issue_entries(root, file);
  if (!entries) return entries.error();
  for (const TomlNode* entry : *entries)
    if (const auto added = add_rule(rules, ids_of_layer, parse_known_issue(*entry, file), entry->line, file); !added)
      return added.error();
  return {};
}

Result<void> add_file(RuleSet& rules, std::set<std::string>& ids_of_layer, const RuleFile& file) {
  auto root = tree_of(file);
  if (!root) return root.error();
  const std::string name = base_name(file.name);
  if (name == "kernels.toml") return add_name_classes(rules, *root, file.name);
  if (name == "known_issues.toml") return add_known_issues(rules, ids_of_layer, *root, file.name);
  if (name != "verdict.toml") return add_rule(rules, ids_of_layer, parse_rule(*root, file.name), root->line, file.name);
  auto texts = parse_verdict_texts(*root, file.name);
  if (!texts) return texts.error();
  rules.verdict = std::move(*texts);
  return {};
}

// Whether following `explains` from `rule` leads back to `target`.
bool leads_to(const RuleSet& rules, const Rule& rule, const std::string& target, std::set<std::string>& seen) {
  for (const std::string& id : rule.explains) {
    if (id == target) return true;
    const Rule* next = rules.find(id);
    if (next != nullptr && seen.insert(id).second && leads_to(rules, *next, target, seen)) return true;
  }
  return false;
}

Result<void> check_named(const RuleSet& rules, const Rule& rule, const char* key, const std::vector<std::string>& ids) {
  for (const std::string& id : ids)
    if (rules.find(id) == nullptr)
      return rule_file_error(rule.file, rule.line, key, fmt::format("there is no rule '{}'", id),
                             "gradsync-doctor rules lists them");
  return {};
}

// A pair of rules that go before each other has no order.
Result<void> check_before(const RuleSet& rules, const Rule& rule) {
  for (const std::string& id : rule.before) {
    const Rule& other = *rules.find(id);
    if (std::find(other.before.begin(), other.before.end(), rule.id) != other.before.end())
      return rule_file_error(rule.file, rule.line, "before", fmt::format("'{}' says the same of this rule", id),
                             "of two rules one is followed first");
  }
  return {};
}

Result<void> check_explains(const RuleSet& rules) {
  for (const Rule& rule : rules.rules) {
    for (const auto& [key, ids] :
         {std::pair{"explains", &rule.explains}, {"excludes", &rule.excludes}, {"before", &rule.before}})
      if (const auto named = check_named(rules, rule, key, *ids); !named) return named.error();
    if (const auto ordered = check_before(rules, rule); !ordered) return ordered.error();
    std::set<std::string> seen;
    if (leads_to(rules, rule, rule.id, seen))
      return rule_file_error(rule.file, rule.line, "explains", fmt::format("'{}' explains itself in a circle", rule.id),
                             "of two rules that explain each other one is the cause");
  }
  return {};
}

}  // namespace

Result<TomlNode> tree_of(const RuleFile& file) {
  if (auto parsed = read_toml_tree(file.tree)) return std::move(*parsed);
  return parse_toml(file.text, file.name);
}

const Rule* RuleSet::find(std::string_view id) const {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

Rule* RuleSet::find(std::string_view id) { return const_cast<Rule*>(std::as_const(*this).find(id)); }

std::string fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

Result<RuleSet> make_rule_set(const std::vector<std::vector<RuleFile>>& layers) {
  RuleSet rules;
  std::string contents;
  for (const auto& layer : layers) {
    std::set<std::string> ids;
    for (const RuleFile& file : layer) {
      const auto added = add_file(rules, ids, file);
      if (!added) return added.error();
      contents += base_name(file.name) + '\0' + file.text + '\0';
    }
  }
  std::sort(rules.rules.begin(), rules.rules.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
  if (const auto checked = check_explains(rules); !checked) return checked.error();
  rules.version = fnv1a(contents);
  return rules;
}

Result<RuleSet> builtin_rules() { return load_rules({}); }

Result<RuleSet> load_rules(const RuleOptions& options) {
  std::vector<std::vector<RuleFile>> layers{builtin_rule_files()};
  for (const auto& folder : options.folders) {
    auto files = read_folder(folder);
    if (!files) return files.error();
    layers.push_back(std::move(*files));
  }
  if (!options.file.empty()) {
    auto text = read_file(options.file, kLargestRuleFile);
    if (!text)
      return Error{"cannot read rule file", options.file.string(), text.error().why,
                   "--check FILE takes one .toml file", 2};
    layers.push_back({{options.file.string(), std::move(*text)}});
  }
  auto rules = make_rule_set(layers);
  if (!rules) return rules;
  for (const std::string& setting : options.settings)
    if (const auto set = set_threshold(*rules, setting); !set) return set.error();
  return rules;
}

RuleSet rules_of_file(const RuleSet& rules, const std::filesystem::path& file) {
  RuleSet own = rules;
  std::erase_if(own.rules, [&](const Rule& rule) { return rule.file != file.string(); });
  return own;
}

void load_name_classes(const RuleSet& rules, Inputs& inputs) {
  inputs.operator_classes = rules.operators;
  inputs.range_classes = rules.ranges;
}

}  // namespace gradsync
