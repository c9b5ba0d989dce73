#include "src/diagnosis/parse_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/text.h"
#include "src/diagnosis/parse_condition.h"
#include "src/diagnosis/placeholder.h"

namespace gradsync {
namespace {

bool is_kebab_case(std::string_view id) {
  return !id.empty() && id.front() != '-' && id.back() != '-' &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

template <class Enum, std::size_t N>
Enum read_word(TableReader& reader, std::string_view key, const std::array<Enum, N>& values) {
  const std::string word = reader.required_text(key);
  std::vector<std::string> allowed;
  for (const Enum value : values) {
    if (word == to_string(value)) return value;
    allowed.emplace_back(to_string(value));
  }
  reader.fail(key, fmt::format("'{}' is none of its words", word), fmt::format("one of: {}", join(allowed, ", ")));
  return values.front();
}

std::string read_for_each(TableReader& reader) {
  static constexpr std::array kKinds{"all", "rank", "device", "group", "layer", "host"};
  std::string kind = reader.text("for_each");
  if (kind.empty()) return "all";
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end())
    reader.fail("for_each", fmt::format("'{}' is no kind of scope", kind),
                "one of: all, rank, device, group, layer, host");
  return kind;
}

// A saving is time per step, and is compared with other savings.
std::vector<std::string> read_saves(TableReader& reader) {
  const TomlNode* node = reader.any("saves");
  if (node == nullptr) return {};
  std::vector<std::string> metrics =
      node->kind == TomlNode::Kind::array ? reader.texts("saves") : std::vector{reader.text("saves")};
  for (const std::string& metric : metrics)
    if (const std::string unit = unit_of(metric); unit != "ms" && unit != "us")
      reader.fail("saves", fmt::format("{} is not a time", metric), "name a metric in ms or us");
  return metrics;
}

std::string read_template(TableReader& reader, std::string_view key, std::string text) {
  if (const auto why = malformed(text)) reader.fail(key, *why, "placeholders are {a.metric}, {fact:name} and {scope}");
  return text;
}

void read_texts(TableReader& reader, Rule& rule) {
  rule.title = read_template(reader, "title", reader.required_text("title"));
  rule.says = read_template(reader, "says", reader.required_text("says"));
  rule.why = read_template(reader, "why", reader.required_text("why"));
  rule.where = read_template(reader, "where", reader.text("where"));
  rule.hint = reader.text("hint");
  for (std::string& advice : reader.texts("try")) rule.advice.push_back(read_template(reader, "try", advice));
  if (rule.advice.empty()) reader.fail("try", "is missing", "a finding without advice helps nobody: try = [\"…\"]");
}

void read_obstacles(TableReader& reader, Rule& rule) {
  const TomlNode* list = reader.array("not_judged_if");
  if (list == nullptr) return;
  for (const TomlNode& item : list->items) {
    // `because` belongs to the obstacle, the other keys to the condition.
    TomlNode test = item;
    Obstacle obstacle;
    if (const TomlNode* because = item.find("because")) {
      obstacle.because = because->text;
      const auto position = static_cast<std::ptrdiff_t>(because - item.items.data());
      test.items.erase(test.items.begin() + position);
      test.keys.erase(test.keys.begin() + position);
    }
    if (obstacle.because.empty())
      return reader.fail("not_judged_if", "an entry has no reason", "add because = \"…\" to it");
    auto condition = parse_condition(test, reader.file());
    if (!condition) return reader.fail(condition.error());
    obstacle.when = std::move(*condition);
    rule.not_judged_if.push_back(std::move(obstacle));
  }
}

void read_from(TableReader& reader, Rule& rule) {
  const TomlNode* table = reader.table("from");
  if (table == nullptr) return;
  for (std::size_t i = 0; i < table->keys.size(); ++i) {
    const std::string& metric = table->keys[i];
    const auto conditions = metric_conditions(rule.conditions);
    const bool used = std::any_of(conditions.begin(), conditions.end(),
                                  [&](const MetricCondition* condition) { return condition->metric == metric; });
    if (!used) return reader.fail("from", fmt::format("no condition tests {}", metric), "");
    rule.from[metric] = table->items[i].text;
  }
}

Result<Example> parse_example(const TomlNode& node, const Rule& rule) {
  TableReader reader(node, rule.file);
  Example example;
  example.line = node.line;
  const std::string expect = reader.required_text("expect");
  if (expect == "fires")
    example.expect = FindingState::fired;
  else if (expect == "clean")
    example.expect = FindingState::clean;
  else if (expect == "could_not_judge")
    example.expect = FindingState::could_not_judge;
  else
    reader.fail("expect", fmt::format("'{}' is none of its words", expect), "one of: fires, clean, could_not_judge");
  example.scope = reader.text("scope");
  if (example.scope.empty()) example.scope = rule.for_each == "all" ? "all" : rule.for_each + ":0";
  if (const TomlNode* metrics = reader.table("metrics"))
    for (std::size_t i = 0; i < metrics->keys.size(); ++i) {
      if (!metrics->items[i].is_number())
        reader.fail("metrics", fmt::format("{} is not a number", metrics->keys[i]), "in the metric's own unit");
      example.metrics[metrics->keys[i]] = metrics->items[i].number;
    }
  if (const TomlNode* facts = reader.table("facts"))
    for (std::size_t i = 0; i < facts->keys.size(); ++i) {
      if (facts->items[i].kind != TomlNode::Kind::text)
        reader.fail("facts", fmt::format("{} is not a string", facts->keys[i]), "");
      example.facts[facts->keys[i]] = facts->items[i].text;
    }
  if (const auto error = reader.finish()) return *error;
  return example;
}

void read_examples(TableReader& reader, Rule& rule) {
  const TomlNode* list = reader.array("example");
  if (list == nullptr) return;
  for (const TomlNode& node : list->items) {
    auto example = parse_example(node, rule);
    if (!example) return reader.fail(example.error());
    rule.examples.push_back(std::move(*example));
  }
}

void read_head(TableReader& reader, Rule& rule) {
  rule.id = reader.required_text("id");
  if (!rule.id.empty() && !is_kebab_case(rule.id))
    reader.fail("id", fmt::format("'{}' is not kebab-case", rule.id), "lower-case words joined by -");
  const auto step = reader.integer("step");
  if (!step || *step < 1 || *step > 4) reader.fail("step", "is missing or not 1 to 4", "the diagnostic step: step = 2");
  rule.step = static_cast<int>(step.value_or(1));
  rule.severity = read_word(reader, "severity", std::array{Severity::error, Severity::warning, Severity::info});
  rule.for_each = read_for_each(reader);
  rule.priority = static_cast<int>(reader.integer("priority").value_or(0));
  rule.explains = reader.texts("explains");
  rule.excludes = reader.texts("excludes");
  rule.before = reader.texts("before");
  rule.saves = read_saves(reader);
  rule.judged_by = reader.text("judged_by");
}

}  // namespace

Result<Rule> parse_rule(const TomlNode& root, const std::string& file) {
  TableReader reader(root, file);
  Rule rule;
  rule.file = file;
  rule.line = root.line;
  read_head(reader, rule);
  read_texts(reader, rule);
  auto conditions = parse_conditions(reader);
  if (!conditions) return conditions.error();
  rule.conditions = std::move(*conditions);
  if (rule.conditions.members.empty()) reader.fail("all", "is missing", "a rule needs conditions: all = [ … ]");
  read_obstacles(reader, rule);
  read_from(reader, rule);
  read_examples(reader, rule);
  if (const auto error = reader.finish()) return *error;
  return rule;
}

}  // namespace gradsync
