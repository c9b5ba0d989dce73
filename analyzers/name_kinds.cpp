#include "analyzers/name_kinds.h"

#include <algorithm>
#include <array>
#include <cctype>

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

bool RequiredTexts::may_match(std::string_view name) const {
  const auto holds = [name](const std::string& text) { return name.find(text) != std::string_view::npos; };
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const auto& texts) { return std::all_of(texts.begin(), texts.end(), holds); });
}

RequiredTexts required_texts(std::string_view pattern) {
  RequiredTexts required{{{}}, pattern.starts_with('^')};
  std::string run;
  const auto end_run = [&] {
    if (!run.empty()) required.alternatives.back().push_back(std::move(run));
    run.clear();
  };
  for (std::size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    if (c == '|') {
      end_run();
      required.alternatives.emplace_back();
      required.anchored = required.anchored && pattern.substr(at + 1).starts_with('^');
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
      if (std::isalnum(static_cast<unsigned char>(escaped)) != 0)
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
  end_run();
  return required;
}

NameKinds::NameKinds(const std::vector<NameClass>& rows, const RankTimeline& rank) : rank_(rank) {
  rows_.reserve(rows.size());
  for (const NameClass& row : rows) {
    NameKind kind{true, work_kind_from(row.kind), evidence_from(row.evidence), row.wire, row.meaning};
    rows_.push_back({&row.pattern, std::nullopt, required_texts(row.pattern), kind});
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

const NameKind& NameKinds::with_wire(const NameKind& kind, std::string_view wire) {
  if (kind.wire == wire) return kind;
  const auto [slot, inserted] = rewired_.try_emplace({&kind, wire}, kind);
  if (inserted) slot->second.wire = wire;
  return slot->second;
}

NameKind NameKinds::work_out(std::string_view name) {
  name = name.substr(0, kLongestName);
  if (name.find(".py(") != std::string_view::npos) return {};  // a stack's frames, the most names of all
  for (Row& row : rows_) {
    if (!row.required.may_match(name)) continue;
    using namespace std::regex_constants;
    const match_flag_type flags = row.required.anchored ? match_continuous : match_default;
    if (!row.pattern) row.pattern.emplace(*row.text, std::regex::ECMAScript | std::regex::optimize);
    if (std::regex_search(name.begin(), name.end(), *row.pattern, flags)) return row.kind;
  }
  return {};
}

}  // namespace gradsync
