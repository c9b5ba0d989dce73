#include "src/diagnosis/parse_known_issue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/diagnosis/parse_rule.h"

namespace gradsync {
namespace {

constexpr std::array<std::string_view, 5> kOwnKeys{"component", "since", "fixed_in", "link", "dated"};

// The entry without the keys that are not a rule's, with the severity that all of them have.
TomlNode rule_part(const TomlNode& entry) {
  TomlNode rule = entry;
  for (std::size_t i = rule.keys.size(); i-- > 0;)
    if (std::find(kOwnKeys.begin(), kOwnKeys.end(), rule.keys[i]) != kOwnKeys.end()) {
      rule.keys.erase(rule.keys.begin() + static_cast<std::ptrdiff_t>(i));
      rule.items.erase(rule.items.begin() + static_cast<std::ptrdiff_t>(i));
    }
  TomlNode severity;
  severity.kind = TomlNode::Kind::text;
  severity.text = "info";
  severity.line = entry.line;
  const auto at = std::lower_bound(rule.keys.begin(), rule.keys.end(), "severity") - rule.keys.begin();
  rule.keys.insert(rule.keys.begin() + at, "severity");
  rule.items.insert(rule.items.begin() + at, std::move(severity));
  return rule;
}

std::string own_text(const TomlNode& entry, std::string_view key) {
  const TomlNode* node = entry.find(key);
  return node != nullptr && node->kind == TomlNode::Kind::text ? node->text : "";
}

bool is_date(std::string_view text) {
  return text.size() == 10 && text[4] == '-' && text[7] == '-' &&
         std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) == 8;
}

Condition version(const std::string& fact, FactTest test, const std::string& value) {
  return Condition{FactCondition{fact, test, {value}}};
}

}  // namespace

Result<std::vector<const TomlNode*>> known_issue_entries(const TomlNode& root, const std::string& file) {
  TableReader reader(root, file);
  const TomlNode* list = reader.array("issue");
  if (const auto error = reader.finish()) return *error;
  std::vector<const TomlNode*> entries;
  if (list == nullptr) return rule_file_error(file, root.line, "issue", "is missing", "[[issue]] begins an entry");
  for (const TomlNode& entry : list->items) entries.push_back(&entry);
  return entries;
}

Result<Rule> parse_known_issue(const TomlNode& entry, const std::string& file) {
  if (entry.find("severity") != nullptr)
    return rule_file_error(file, entry.line, "severity", "a known issue has none of its own", "remove it: it is info");
  if (entry.find("explains") != nullptr)
    return rule_file_error(file, entry.line, "explains", "what is only possible explains nothing", "remove it");
  const std::string component = own_text(entry, "component"), link = own_text(entry, "link"),
                    dated = own_text(entry, "dated"), since = own_text(entry, "since"),
                    fixed = own_text(entry, "fixed_in");
  if (component.empty())
    return rule_file_error(file, entry.line, "component", "is missing", "the fact that holds the version: torch");
  if (link.empty()) return rule_file_error(file, entry.line, "link", "is missing", "where it was reported");
  if (!is_date(dated))
    return rule_file_error(file, entry.line, "dated", "is missing or no date", "dated = \"2026-11-30\"");
  if (since.empty() && fixed.empty())
    return rule_file_error(file, entry.line, "since", "neither since nor fixed_in",
                           "without a version it is a plain rule");
  for (const std::string& one : {since, fixed})
    if (!one.empty() && !compare_versions(one, one))
      return rule_file_error(file, entry.line, one == since ? "since" : "fixed_in",
                             fmt::format("'{}' is not a version", one), "");
  auto rule = parse_rule(rule_part(entry), file);
  if (!rule) return rule;
  if (!rule->id.starts_with("known-issue-"))
    return rule_file_error(file, entry.line, "id", "does not begin with known-issue-", "");
  if (metric_conditions(rule->conditions).empty())
    return rule_file_error(file, entry.line, "all", "asks for no symptom that was measured", "add a metric to it");
  std::vector<Condition>& all = rule->conditions.members;
  if (!fixed.empty()) all.insert(all.begin(), version(component, FactTest::below, fixed));
  if (!since.empty()) all.insert(all.begin(), version(component, FactTest::at_least, since));
  rule->title = "Possible: " + rule->title;
  rule->known_issue = fmt::format("{} (looked at {})", link, dated);
  rule->advice.push_back(fmt::format("The report: {}", rule->known_issue));
  return rule;
}

}  // namespace gradsync
