#include "analyzers/name_kinds.h"

#include <algorithm>
#include <array>

namespace gradsync {
namespace {

constexpr std::array<std::string_view, kWorkKinds> kWords{"",        "error-feedback", "low-rank",  "select",
                                                          "compact", "quantise",       "host-pack", "reconstruct"};
// The standard library's matcher recurses once for each character.
constexpr std::size_t kLongestName = 2000;

WorkKind work_kind_from(std::string_view word) {
  const auto found = std::find(kWords.begin(), kWords.end(), word);
  return found == kWords.end() ? WorkKind::none : static_cast<WorkKind>(found - kWords.begin());
}

Evidence evidence_from(std::string_view word) {
  if (word == "codec") return Evidence::codec;
  if (word == "pair") return Evidence::pair;
  return word == "beside" ? Evidence::beside : Evidence::chain;
}

// Behind the bracket or parenthesis that opens at `at`, quantifier not included.
std::size_t skip_nested(std::string_view pattern, std::size_t at) {
  int depth = 0;
  bool in_class = false;
  for (; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    }
    if (depth == 0 && !in_class) return at + 1;
  }
  return pattern.size();
}

}  // namespace

std::string_view to_string(WorkKind kind) { return kWords[static_cast<std::size_t>(kind)]; }

std::vector<std::string> required_texts(std::string_view pattern) {
  std::vector<std::string> texts;
  std::string longest, run;
  const auto end_run = [&] {
    if (run.size() > longest.size()) longest = run;
    run.clear();
  };
  const auto end_alternative = [&] {
    end_run();
    texts.push_back(std::move(longest));
    longest.clear();
  };
  for (std::size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '|') {
      end_alternative();
      ++at;
    } else if (c == '(' || c == '[') {
      end_run();
      at = skip_nested(pattern, at);
    } else if (c == '?' || c == '*' || c == '{') {
      if (!run.empty()) run.pop_back();  // the character before may be missing
      end_run();
      if (c == '{') at = std::min(pattern.find('}', at), pattern.size() - 1);
      ++at;
    } else if (c == '\\' && at + 1 < pattern.size()) {
      const char escaped = pattern[at + 1];
      const bool letter = (escaped >= '0' && escaped <= '9') || (escaped >= 'A' && escaped <= 'Z') ||
                          (escaped >= 'a' && escaped <= 'z');
      if (letter)
        end_run();
      else
        run += escaped;
      at += 2;
    } else {
      if (c == '^' || c == '$' || c == '.' || c == '+')
        end_run();
      else
        run += c;
      ++at;
    }
  }
  end_alternative();
  const bool all = std::none_of(texts.begin(), texts.end(), [](const std::string& text) { return text.empty(); });
  return all ? texts : std::vector<std::string>{};
}

NameKinds::NameKinds(const std::vector<NameClass>& rows, const RankTimeline& rank) : rank_(rank) {
  rows_.reserve(rows.size());
  for (const NameClass& row : rows) {
    NameKind kind{true, work_kind_from(row.kind), evidence_from(row.evidence), row.wire, row.meaning};
    rows_.push_back(
        {std::regex(row.pattern, std::regex::ECMAScript | std::regex::optimize), required_texts(row.pattern), kind});
  }
}

const NameKind& NameKinds::of(NameId name) {
  const auto index = static_cast<std::size_t>(name);
  if (index >= seen_.size()) {
    seen_.resize(index + 1);
    looked_.resize(index + 1);
  }
  if (!looked_[index]) {
    looked_[index] = true;
    seen_[index] = work_out(rank_.name(name));
  }
  return seen_[index];
}

NameKind NameKinds::work_out(std::string_view name) const {
  name = name.substr(0, kLongestName);
  if (name.find(".py(") != std::string_view::npos) return {};  // a stack's frames, the most names of all
  for (const Row& row : rows_) {
    const auto holds = [name](const std::string& text) { return name.find(text) != std::string_view::npos; };
    if (!row.required.empty() && std::none_of(row.required.begin(), row.required.end(), holds)) continue;
    if (std::regex_search(name.begin(), name.end(), row.pattern)) return row.kind;
  }
  return {};
}

}  // namespace gradsync
