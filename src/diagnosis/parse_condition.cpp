#include "src/diagnosis/parse_condition.h"

#include <fmt/format.h>

#include <array>
#include <cctype>

#include "src/base/text.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::array kComparisons{Comparison::above, Comparison::below, Comparison::at_least, Comparison::at_most};

Error wrong_threshold(std::string_view metric, std::string why, std::string_view like) {
  return Error{"cannot use the threshold of", std::string(metric), std::move(why),
               fmt::format("write it like {}", like), 2};
}

// A number that stands alone, sign allowed.
std::optional<double> plain_number(std::string_view text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(std::string(text), &used);
    return used == text.size() ? std::optional(value) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<double> with_suffix(std::string_view text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return std::nullopt;
  return plain_number(trim(text.substr(0, text.size() - suffix.size())));
}

double duration_in(std::string_view unit, double nanoseconds) {
  return unit == "ms" ? nanoseconds / 1e6 : unit == "us" ? nanoseconds / 1e3 : nanoseconds;
}

// One level of the group that `key` names.
Result<ConditionGroup> parse_group(const TomlNode& list, ConditionGroup::Kind kind, const char* key,
                                   const std::string& file) {
  ConditionGroup group{kind, {}};
  for (const TomlNode& item : list.items) {
    auto member = parse_condition(item, file);
    if (!member) return member.error();
    group.members.push_back(std::move(*member));
  }
  if (group.members.empty()) return rule_file_error(file, list.line, key, "an empty list says nothing", "");
  return group;
}

void read_metric(TableReader& reader, MetricCondition& condition) {
  condition.metric = reader.required_text("metric");
  condition.scope = reader.text("scope");
  int comparisons = 0;
  for (const Comparison comparison : kComparisons) {
    const TomlNode* node = reader.any(to_string(comparison));
    if (node == nullptr) continue;
    ++comparisons;
    condition.comparison = comparison;
    const bool bare = node->is_number();
    if (!bare && node->kind != TomlNode::Kind::text)
      return reader.fail(to_string(comparison), "a number or a string with a unit is expected", "");
    auto threshold = bare && unit_of(condition.metric) == "1"
                         ? Result<double>(node->number)
                         : parse_threshold(bare ? format_short(node->number) : node->text, condition.metric);
    if (!threshold) return reader.fail(to_string(comparison), threshold.error().why, threshold.error().hint);
    condition.threshold = *threshold;
  }
  if (comparisons != 1)
    reader.fail("metric", comparisons == 0 ? "no threshold" : "more than one threshold",
                "give one of above, below, at_least, at_most; two bounds are two conditions");
}

void read_fact(TableReader& reader, FactCondition& condition) {
  condition.fact = reader.required_text("fact");
  int tests = 0;
  const auto version = [&](const char* key, FactTest test) {
    const std::string value = reader.text(key);
    if (value.empty()) return;
    ++tests;
    condition.test = test;
    condition.values = {value};
    if (!compare_versions(value, value)) reader.fail(key, fmt::format("'{}' is not a version", value), "");
  };
  if (const std::string value = reader.text("is"); !value.empty()) {
    ++tests;
    condition.values = {value};
  }
  if (auto values = reader.texts("one_of"); !values.empty()) {
    ++tests;
    condition.values = std::move(values);
  }
  version("at_least", FactTest::at_least);
  version("below", FactTest::below);
  if (const TomlNode* node = reader.any("present")) {
    ++tests;
    if (node->kind != TomlNode::Kind::truth) reader.fail("present", "true or false is expected", "");
    condition.test = node->truth ? FactTest::present : FactTest::absent;
  }
  if (tests != 1)
    reader.fail("fact", tests == 0 ? "no test" : "more than one test",
                "give one of is, one_of, at_least, below, present");
}

}  // namespace

Result<double> parse_threshold(std::string_view text, std::string_view metric) {
  text = trim(text);
  const std::string unit = unit_of(metric);
  if (unit == "1") {
    if (const auto number = plain_number(text)) return *number;
    return wrong_threshold(metric, fmt::format("it has no unit, '{}' has", text), "8");
  }
  if (plain_number(text)) {
    const auto example = unit == "percent" ? "\"30 %\"" : unit == "bytes" ? "\"64 KiB\"" : "\"8 ms\"";
    return wrong_threshold(metric, fmt::format("'{}' needs a unit: the metric is in {}", text, unit), example);
  }
  if (unit == "percent") {
    if (const auto number = with_suffix(text, "%")) return *number;
    return wrong_threshold(metric, fmt::format("'{}' is not a share", text), "\"30 %\"");
  }
  if (unit == "bytes") {
    const auto bytes = parse_bytes(text);
    if (bytes) return static_cast<double>(*bytes);
    return wrong_threshold(metric, fmt::format("'{}' is not a size", text), "\"64 KiB\" or \"2 MB\"");
  }
  if (unit == "ms" || unit == "us" || unit == "ns") {
    const auto nanoseconds = parse_duration_ns(text);
    if (nanoseconds) return duration_in(unit, static_cast<double>(*nanoseconds));
    return wrong_threshold(metric, fmt::format("'{}' is not a duration", text), "\"8 ms\" or \"20 us\"");
  }
  const std::string_view written = unit == "hz" ? "Hz" : unit == "gbytes_per_s" ? "GB/s" : "/s";
  if (const auto number = with_suffix(text, written)) return *number;
  return wrong_threshold(metric, fmt::format("'{}' is not in {}", text, written), fmt::format("\"100 {}\"", written));
}

Result<Condition> parse_condition(const TomlNode& node, const std::string& file) {
  TableReader reader(node, file);
  if (!reader.ok()) return *reader.finish();
  for (const auto& [key, kind] : {std::pair{"all", ConditionGroup::Kind::all},
                                  {"any", ConditionGroup::Kind::any},
                                  {"any_known", ConditionGroup::Kind::any_known}}) {
    const TomlNode* list = reader.array(key);
    if (list == nullptr) continue;
    auto group = parse_group(*list, kind, key, file);
    if (const auto error = reader.finish()) return *error;
    if (!group) return group.error();
    return Condition{std::move(*group)};
  }
  Condition condition;
  if (node.find("metric") != nullptr) {
    MetricCondition metric;
    read_metric(reader, metric);
    condition.test = std::move(metric);
  } else if (node.find("fact") != nullptr) {
    FactCondition fact;
    read_fact(reader, fact);
    condition.test = std::move(fact);
  } else if (node.find("finding") != nullptr) {
    const std::string rule = reader.required_text("finding"), state = reader.text("is");
    condition.test = FactCondition{"finding." + rule, FactTest::one_of, {state.empty() ? "fired" : state}};
  } else {
    return rule_file_error(
        file, node.line, "", "a condition tests nothing",
        "write { metric = …, above = … }, { fact = …, is = … }, { all = […] }, { any = […] } or { any_known = […] }");
  }
  if (const auto error = reader.finish()) return *error;
  return condition;
}

Result<ConditionGroup> parse_conditions(TableReader& reader) {
  ConditionGroup group{ConditionGroup::Kind::all, {}};
  if (const TomlNode* list = reader.array("all")) {
    auto all = parse_group(*list, ConditionGroup::Kind::all, "all", reader.file());
    if (!all) return all.error();
    group = std::move(*all);
  }
  if (const TomlNode* list = reader.array("any")) {
    auto any = parse_group(*list, ConditionGroup::Kind::any, "any", reader.file());
    if (!any) return any.error();
    group.members.push_back(Condition{std::move(*any)});
  }
  return group;
}

}  // namespace gradsync
