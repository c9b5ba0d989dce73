#include "src/lint/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "src/diagnosis/toml_tree.h"

namespace gradsync {
namespace {

constexpr std::pair<const char*, Takes> kTakes[] = {{"nothing", Takes::nothing}, {"truth", Takes::truth},
                                                    {"text", Takes::text},       {"number", Takes::number},
                                                    {"one_of", Takes::one_of},   {"list", Takes::list}};
constexpr std::pair<const char*, Severity> kSeverities[] = {
    {"error", Severity::error}, {"warning", Severity::warning}, {"info", Severity::info}};

template <class Value, std::size_t N>
Value chosen(TableReader& reader, std::string_view key, const std::pair<const char*, Value> (&words)[N],
             Value otherwise) {
  const std::string text = reader.text(key);
  if (text.empty()) return otherwise;
  for (const auto& [word, value] : words)
    if (text == word) return value;
  reader.fail(key, fmt::format("'{}' is not known", text), "");
  return otherwise;
}

std::map<std::string, std::string> versions(TableReader& reader, std::string_view key) {
  std::map<std::string, std::string> found;
  if (const TomlNode* node = reader.table(key))
    for (std::size_t i = 0; i < node->keys.size(); ++i)
      found[node->keys[i] == "option" ? "" : node->keys[i]] = node->items[i].text;
  return found;
}

Result<KnownOption> parse_option(const TomlNode& node, const std::string& file) {
  TableReader reader(node, file);
  KnownOption option;
  option.name = reader.required_text("name");
  option.spelt = reader.texts("spelt");
  option.takes = chosen(reader, "takes", kTakes, Takes::text);
  option.values = reader.texts("values");
  option.since = versions(reader, "since");
  const bool enumerated = option.takes == Takes::one_of || option.takes == Takes::list;
  if (enumerated == option.values.empty()) reader.fail("values", "belong to one_of and list, and to them alone", "");
  if (const auto error = reader.finish()) return *error;
  return option;
}

Result<KnownMistake> parse_mistake(const TomlNode& node, const std::string& file) {
  TableReader reader(node, file);
  KnownMistake mistake;
  mistake.option = reader.text("option");
  mistake.value = reader.text("value");
  mistake.variable = reader.text("variable");
  mistake.event = reader.text("event");
  mistake.severity = chosen(reader, "severity", kSeverities, Severity::error);
  mistake.says = reader.required_text("says");
  mistake.instead = reader.text("instead");
  mistake.add = reader.texts("add");
  if (const auto error = reader.finish()) return *error;
  return mistake;
}

// Levenshtein's, by rows.
std::size_t changes_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

// The program that is to run is no value of an option that takes true or false.
bool may_be_value(const KnownOption& option, std::string_view word) {
  if (option.takes == Takes::truth) return word == "true" || word == "false" || word.starts_with("$");
  return !is_option(word);
}

// "--duration60": a known option, and a number behind it.
const KnownOption* glued(const OptionTable& table, std::string_view word, std::string& value) {
  const std::size_t end = word.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == word.size()) return nullptr;
  value = std::string(word.substr(end + 1));
  return table.find(word.substr(0, end + 1));
}

}  // namespace

const KnownOption* OptionTable::find(std::string_view spelt) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const KnownOption& option) {
    return option.name == spelt || std::find(option.spelt.begin(), option.spelt.end(), spelt) != option.spelt.end();
  });
  return found == options.end() ? nullptr : &*found;
}

const KnownMistake* OptionTable::mistake(std::string_view option, std::string_view value) const {
  const auto found = std::find_if(mistakes.begin(), mistakes.end(), [&](const KnownMistake& mistake) {
    return mistake.option == option && !mistake.option.empty() && mistake.value == value;
  });
  return found == mistakes.end() ? nullptr : &*found;
}

std::optional<std::string> OptionTable::nearest(std::string_view spelt) const {
  std::optional<std::string> best;
  std::size_t least = spelt.size() / 3 + 1;
  const auto consider = [&](const std::string& known) {
    const std::size_t changes = changes_between(spelt, known);
    if (changes >= least || known.size() <= 2) return;  // every short option is near every other
    least = changes;
    best = known;
  };
  for (const KnownOption& option : options) {
    consider(option.name);
    for (const std::string& other : option.spelt) consider(other);
  }
  return best;
}

Result<OptionTable> parse_option_table(const RuleFile& file) {
  const Result<TomlNode> root = tree_of(file);
  if (!root) return root.error();
  TableReader reader(*root, file.name);
  OptionTable table;
  table.program = reader.required_text("program");
  table.source = reader.required_text("source");
  if (const TomlNode* options = reader.array("option"))
    for (const TomlNode& node : options->items) {
      auto option = parse_option(node, file.name);
      if (!option) return option.error();
      table.options.push_back(std::move(*option));
    }
  if (const TomlNode* mistakes = reader.array("mistake"))
    for (const TomlNode& node : mistakes->items) {
      auto mistake = parse_mistake(node, file.name);
      if (!mistake) return mistake.error();
      table.mistakes.push_back(std::move(*mistake));
    }
  if (const auto error = reader.finish()) return *error;
  return table;
}

Result<OptionTable> option_table(std::string_view name) {
  for (const RuleFile& file : builtin_command_tables())
    if (file.name == std::string(name) + ".toml") return parse_option_table(file);
  return Error{"no table of options is called", std::string(name), "", "", 125};
}

GivenOptions read_options(const OptionTable& table, const std::vector<std::string>& words, Operands operands) {
  GivenOptions given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!is_option(word)) {
      if (operands == Operands::end_the_options) {
        given.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
        return given;
      }
      given.rest.push_back(word);
      continue;
    }
    GivenOption option;
    const std::size_t sign = word.starts_with("--") ? word.find('=') : std::string::npos;
    option.spelt = word.substr(0, sign);
    option.known = table.find(option.spelt);
    if (sign != std::string::npos) option.value = word.substr(sign + 1);
    std::string number;
    if (option.known == nullptr && sign == std::string::npos && word.starts_with("--")) {
      if (const KnownOption* known = glued(table, word, number)) {
        option = {known->name, known, number, true};
      }
    } else if (option.known == nullptr && !word.starts_with("--") && word.size() > 2) {
      if (const KnownOption* known = table.find(word.substr(0, 2)); known != nullptr && known->takes != Takes::nothing)
        option = {word.substr(0, 2), known, word.substr(2), false};
    }
    const bool wants = option.known != nullptr && option.known->takes != Takes::nothing && !option.value;
    if (wants && i + 1 < words.size() && may_be_value(*option.known, words[i + 1])) option.value = words[++i];
    given.options.push_back(std::move(option));
  }
  return given;
}

}  // namespace gradsync
