#include "src/diagnosis/placeholder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::string_view kFact = "fact:";
constexpr std::string_view kMissing = "(not measured)";

bool is_metric_name(std::string_view name) {
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos) {
    const std::string_view quantile = name.substr(at + 1);
    if (quantile != "p10" && quantile != "p50" && quantile != "p90") return false;
    name = name.substr(0, at);
  }
  return name.find('.') != std::string_view::npos && name.front() != '.' && name.back() != '.' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._:<>") == std::string_view::npos;
}

std::optional<std::string> value_of(std::string_view name, const Situation& situation) {
  if (name == "scope") return scope_in_words(situation.scope);
  if (name.starts_with(kFact)) {
    const auto fact = situation.facts.find(std::string(name.substr(kFact.size())));
    if (fact == situation.facts.end() || fact->second.empty()) return std::nullopt;
    return fact->second;
  }
  const auto value = measured(situation, name);
  if (!value) return std::nullopt;
  if (std::isinf(*value)) return "∞";
  return format_value(*value, unit_of(name));
}

// Calls `take` with the text between placeholders and `name` with each placeholder's name.
void walk(std::string_view text, const std::function<void(std::string_view)>& take,
          const std::function<void(std::string_view)>& name) {
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    take(text.substr(0, open));
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return;
    name(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

}  // namespace

static std::string without_unknown_parts(std::string_view text, const Situation& situation) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t open = text.find("[[");
    const std::size_t close = open == std::string_view::npos ? open : text.find("]]", open);
    if (close == std::string_view::npos) break;
    kept += text.substr(0, open);
    const std::string_view part = text.substr(open + 2, close - open - 2);
    if (fill_if_known(part, situation)) kept += part;
    text.remove_prefix(close + 2);
  }
  return kept.append(text);
}

std::string fill(std::string_view whole, const Situation& situation) {
  const std::string text = without_unknown_parts(whole, situation);
  std::string filled;
  walk(
      text, [&](std::string_view plain) { filled += plain; },
      [&](std::string_view name) { filled += value_of(name, situation).value_or(std::string(kMissing)); });
  return filled;
}

std::optional<std::string> fill_if_known(std::string_view text, const Situation& situation) {
  bool known = true;
  walk(
      text, [](std::string_view) {},
      [&](std::string_view name) { known = known && value_of(name, situation).has_value(); });
  if (!known) return std::nullopt;
  return fill(text, situation);
}

std::vector<std::string> metrics_in(std::string_view text) {
  std::vector<std::string> names;
  walk(
      text, [](std::string_view) {},
      [&](std::string_view name) {
        if (is_metric_name(name) && std::find(names.begin(), names.end(), name) == names.end())
          names.emplace_back(name);
      });
  return names;
}

std::optional<std::string> malformed(std::string_view text) {
  const auto opened = std::count(text.begin(), text.end(), '{');
  if (opened != std::count(text.begin(), text.end(), '}')) return "a brace is not closed, or closes nothing";
  std::optional<std::string> why;
  walk(
      text, [](std::string_view) {},
      [&](std::string_view name) {
        const bool fact = name.starts_with(kFact) && name.size() > kFact.size();
        if (!why && name != "scope" && !fact && !is_metric_name(name))
          why = fmt::format("{{{}}} is neither a metric, nor {{fact:NAME}}, nor {{scope}}", name);
      });
  return why;
}

std::string scope_in_words(std::string_view scope) {
  if (scope == "all") return "all ranks";
  std::string words(scope);
  const std::size_t colon = words.find(':');
  if (colon != std::string::npos) words[colon] = ' ';
  return words;
}

}  // namespace gradsync
