// Options against the table: unknown ones, wrong and missing values, known mistakes.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"
#include "src/lint/command_lint.h"

namespace gradsync {
namespace {

// A shell fills it in: what it will be is not known.
bool is_open(std::string_view value) { return value.find_first_of("$`") != std::string_view::npos; }

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

class Check {
 public:
  Check(const OptionTable& table, OptionCheck& result) : table_(table), result_(result) {}

  void option(const GivenOption& given) {
    const std::string name = given.known != nullptr ? given.known->name : given.spelt;
    if (const KnownMistake* mistake = table_.mistake(name, "")) {
      say(mistake->severity, given.spelt, *mistake);
      if (mistake->severity != Severity::info) return;
    } else if (given.known == nullptr) {
      unknown(given);
      return;
    }
    const KnownOption& known = *given.known;
    if (given.glued)
      result_.findings.push_back({Severity::error, given.spelt + *given.value, "an option and its value are two things",
                                  given.spelt + "=" + *given.value});
    version(known, "", given.spelt);
    std::optional<std::string> value = given.value;
    if (known.takes != Takes::nothing && !value) {
      result_.findings.push_back({Severity::error, given.spelt, "needs a value" + choices(known), ""});
      if (known.takes == Takes::truth) value = "true";
    } else if (value && !is_open(*value)) {
      value = checked(given, known);
    }
    write(given.spelt, known, value);
  }

 private:
  void say(Severity severity, const std::string& word, const KnownMistake& mistake) {
    std::string fix = mistake.instead;
    for (const std::string& added : mistake.add) {
      fix += (fix.empty() ? "" : ", ") + added;
      // "-s max" are two words of the corrected command
      for (const std::string_view part : split_words(added)) additions_.emplace_back(part);
    }
    result_.findings.push_back({severity, word, mistake.says, fix});
  }

  void unknown(const GivenOption& given) {
    const auto nearest = table_.nearest(given.spelt);
    result_.findings.push_back({Severity::error, given.spelt,
                                fmt::format("{} has no such option that is documented", table_.program),
                                nearest ? *nearest + ", the nearest that there is" : ""});
    if (const KnownOption* known = nearest ? table_.find(*nearest) : nullptr) write(*nearest, *known, given.value);
  }

  static std::string choices(const KnownOption& known) {
    if (known.takes == Takes::truth) return ": true or false";
    return known.values.empty() ? "" : ": " + join(known.values, ", ");
  }

  void version(const KnownOption& known, const std::string& value, const std::string& word) {
    if (const auto since = known.since.find(value); since != known.since.end())
      result_.notes.push_back(fmt::format("{} is known from version {} on.", word, since->second));
  }

  // The value as it should be; nothing: the option says nothing any more.
  std::optional<std::string> checked(const GivenOption& given, const KnownOption& known) {
    const std::string& value = *given.value;
    if (known.takes == Takes::number && !is_number(value))
      result_.findings.push_back({Severity::error, given.spelt + " " + value, "takes a number", ""});
    if (known.takes == Takes::truth && value != "true" && value != "false") {
      result_.findings.push_back(
          {Severity::error, given.spelt + " " + value, "takes true or false", given.spelt + "=true"});
      return "true";
    }
    if (known.takes != Takes::list && known.takes != Takes::one_of) return value;
    std::vector<std::string> kept;
    for (const std::string& item : items_of(value))
      if (const auto right = item_of(given, known, item)) kept.push_back(*right);
    if (known.takes == Takes::one_of && kept.size() > 1) {
      if (kept.size() == items_of(value).size())
        result_.findings.push_back(
            {Severity::error, given.spelt + " " + value, "takes one value" + choices(known), ""});
      kept.resize(1);
    }
    if (kept.empty()) return std::nullopt;
    return join(kept, ",");
  }

  std::optional<std::string> item_of(const GivenOption& given, const KnownOption& known, const std::string& item) {
    if (const KnownMistake* mistake = table_.mistake(known.name, item)) {
      say(mistake->severity, given.spelt + " " + item, *mistake);
      return mistake->instead.empty() ? std::nullopt : std::optional(mistake->instead);
    }
    const std::string bare = item.substr(0, item.find_first_of(":["));
    if (std::find(known.values.begin(), known.values.end(), bare) == known.values.end()) {
      OptionTable values;
      for (const std::string& value : known.values) values.options.push_back({value, {}, Takes::nothing, {}, {}});
      auto nearest = values.nearest(bare);
      result_.findings.push_back({Severity::error, given.spelt + " " + item,
                                  "not a value that is documented" + choices(known),
                                  nearest ? *nearest + ", the nearest that there is" : ""});
      return nearest;
    }
    version(known, bare, given.spelt + " " + item);
    return item;
  }

  void write(const std::string& spelt, const KnownOption& known, const std::optional<std::string>& value) {
    auto& words = result_.corrected;
    if (known.takes == Takes::nothing) {
      words.push_back(spelt);
    } else if (value && spelt.starts_with("--")) {
      words.push_back(spelt + "=" + *value);
    } else if (value) {
      words.insert(words.end(), {spelt, *value});
    }
  }

 public:
  void finish() {
    for (const std::string& added : additions_)
      if (std::find(result_.corrected.begin(), result_.corrected.end(), added) == result_.corrected.end())
        result_.corrected.push_back(added);
  }

 private:
  const OptionTable& table_;
  OptionCheck& result_;
  std::vector<std::string> additions_;
};

}  // namespace

OptionCheck check_options(const OptionTable& table, const std::vector<GivenOption>& given) {
  OptionCheck result;
  Check check(table, result);
  for (const GivenOption& option : given) check.option(option);
  check.finish();
  return result;
}

}  // namespace gradsync
