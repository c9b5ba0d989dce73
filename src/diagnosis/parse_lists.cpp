#include "src/diagnosis/parse_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "src/base/text.h"
#include "src/diagnosis/parse_condition.h"
#include "src/diagnosis/placeholder.h"

namespace gradsync {
namespace {

constexpr std::array<std::string_view, 9> kMeanings{"compress",  "decompress", "comm", "forward", "backward",
                                                    "optimizer", "data",       "step", "other"};
constexpr std::array<std::string_view, 7> kKinds{"select",         "compact",   "quantise",   "low-rank",
                                                 "error-feedback", "host-pack", "reconstruct"};
constexpr std::array<std::string_view, 4> kEvidence{"chain", "codec", "pair", "beside"};

// A word that may be left out.
template <std::size_t count>
std::string optional_word(TableReader& reader, std::string_view key, const std::array<std::string_view, count>& words) {
  std::string word = reader.text(key);
  if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end())
    reader.fail(key, fmt::format("'{}' is none of its words", word), fmt::format("one of: {}", fmt::join(words, ", ")));
  return word;
}

void check_pattern(TableReader& reader, const NameClass& name) {
  if (std::find(kMeanings.begin(), kMeanings.end(), name.meaning) == kMeanings.end())
    reader.fail("meaning", fmt::format("'{}' is none of its words", name.meaning),
                fmt::format("one of: {}", fmt::join(kMeanings, ", ")));
  try {
    const std::regex compiled(name.pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    reader.fail("pattern", fmt::format("'{}' is not a regular expression: {}", name.pattern, error.what()),
                "ECMAScript syntax; in 'single quotes' a backslash stays one");
  }
}

VerdictSign read_sign(TableReader& reader) {
  const std::string word = reader.text("sign");
  if (word.empty()) return VerdictSign::unknown;
  for (const auto sign : {VerdictSign::costs, VerdictSign::saves, VerdictSign::neutral, VerdictSign::unknown})
    if (word == to_string(sign)) return sign;
  reader.fail("sign", fmt::format("'{}' is none of its words", word), "one of: costs, saves, neutral, unknown");
  return VerdictSign::unknown;
}

Result<VerdictCase> parse_case(const TomlNode& node, const std::string& file) {
  TableReader reader(node, file);
  VerdictCase one;
  one.id = reader.required_text("id");
  one.text = reader.required_text("text");
  if (const auto why = malformed(one.text)) reader.fail("text", *why, "");
  one.sign = read_sign(reader);
  one.ms = reader.text("ms");
  // Whether compression costs or saves time is a claim about a run that was not observed, unless both were.
  if (one.sign != VerdictSign::unknown && !one.ms.starts_with("measured."))
    reader.fail("sign", "is only for what was measured", "name a metric measured.… in ms, or leave sign out");
  auto conditions = parse_conditions(reader);
  if (!conditions) return conditions.error();
  one.conditions = std::move(*conditions);
  if (const auto error = reader.finish()) return *error;
  return one;
}

void read_saving(TableReader& reader, const TomlNode& table, VerdictTexts& texts) {
  TableReader savings(table, reader.file());
  for (const auto kind : {SavingKind::bound, SavingKind::predicted, SavingKind::measured})
    texts.saving[kind] = savings.required_text(to_string(kind));
  if (const auto error = savings.finish()) reader.fail(*error);
}

}  // namespace

Result<std::vector<NameClass>> parse_name_classes(const TomlNode& root, std::string_view key, const std::string& file) {
  TableReader reader(root, file);
  std::vector<NameClass> names;
  for (const std::string_view known : {std::string_view("operator"), std::string_view("range")}) {
    const TomlNode* list = reader.array(known);
    if (list == nullptr || known != key) continue;
    for (const TomlNode& node : list->items) {
      TableReader entry(node, file);
      NameClass name{entry.required_text("pattern"), entry.required_text("meaning"),
                     optional_word(entry, "kind", kKinds), optional_word(entry, "evidence", kEvidence),
                     entry.text("wire")};
      if (entry.ok()) check_pattern(entry, name);
      if (const auto error = entry.finish()) return *error;
      names.push_back(std::move(name));
    }
  }
  if (const auto error = reader.finish()) return *error;
  return names;
}

Result<VerdictTexts> parse_verdict_texts(const TomlNode& root, const std::string& file) {
  TableReader reader(root, file);
  VerdictTexts texts;
  if (const TomlNode* saving = reader.table("saving")) read_saving(reader, *saving, texts);
  if (const TomlNode* cases = reader.array("case"))
    for (const TomlNode& node : cases->items) {
      auto one = parse_case(node, file);
      if (!one) return one.error();
      texts.cases.push_back(std::move(*one));
    }
  if (reader.ok() && texts.saving.empty()) reader.fail("saving", "is missing", "words for bound, predicted, measured");
  if (reader.ok() && (texts.cases.empty() || !texts.cases.back().conditions.members.empty()))
    reader.fail("case", "the last case must have no conditions", "it is said when no other case holds");
  if (const auto error = reader.finish()) return *error;
  return texts;
}

}  // namespace gradsync
