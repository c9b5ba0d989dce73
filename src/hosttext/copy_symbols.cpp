#include "src/hosttext/copy_symbols.h"

#include <algorithm>
#include <charconv>

#include "src/base/text.h"

namespace gradsync {

extern const std::string_view kCopySymbolList;  // rules/copy_symbols.txt

namespace {

constexpr std::string_view kCopy = "copy", kNotUser = "not_user", kOther = "other";

// The lines of a text, one after the other.
template <class Line>
void each_line(std::string_view text, const Line& line) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

struct Function {
  std::uint64_t address = 0;
  std::string_view name;
};

// Functions alone: t, T, w, W.
std::optional<Function> parse_function(std::string_view line) {
  Function function;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, function.address, 16);
  if (error != std::errc{} || end - stop < 4 || stop[0] != ' ' || stop[2] != ' ') return std::nullopt;
  if (std::string_view("tTwW").find(stop[1]) == std::string_view::npos) return std::nullopt;
  function.name = line.substr(static_cast<std::size_t>(stop + 3 - line.data()));
  function.name = function.name.substr(0, function.name.find_first_of(" \t"));
  return function;
}

}  // namespace

std::optional<CopySymbols> CopySymbols::parse(std::string_view text) {
  CopySymbols symbols;
  bool whole = true;
  each_line(text, [&](std::string_view line) {
    const std::vector<std::string_view> words = split_words(line.substr(0, line.find('#')));
    whole &= words.size() != 1;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string name(words[i].substr(0, words[i].find('*')));
      if (name.size() < words[i].size())
        symbols.beginnings_.emplace_back(name, words[0]);
      else
        symbols.whole_.emplace(name, words[0]);
    }
  });
  return whole ? std::optional(std::move(symbols)) : std::nullopt;
}

const CopySymbols& CopySymbols::builtin() {
  static const CopySymbols symbols = parse(kCopySymbolList).value();
  return symbols;
}

std::string_view CopySymbols::class_of(std::string_view function) const {
  const std::string base(function.substr(0, function.find('.', 1)));
  if (const auto known = whole_.find(base); known != whole_.end()) return known->second;
  for (const auto& [beginning, of_class] : beginnings_)
    if (function.starts_with(beginning)) return of_class;
  return {};
}

std::variant<CopyMap, CopyMap::Refusal> CopyMap::parse(std::string_view kallsyms, const CopySymbols& symbols) {
  CopyMap map;
  map.classes_.emplace_back();
  bool placed = false;
  each_line(kallsyms, [&](std::string_view line) {
    const std::optional<Function> function = parse_function(line);
    if (!function) return;
    placed |= function->address != 0;
    const std::string_view of_class = symbols.class_of(function->name);
    auto known = std::find(map.classes_.begin(), map.classes_.end(), of_class);
    if (known == map.classes_.end()) known = map.classes_.insert(known, std::string(of_class));
    map.copying_ += of_class == kCopy ? 1 : 0;
    map.functions_.emplace_back(function->address, static_cast<std::uint8_t>(known - map.classes_.begin()));
  });
  if (map.functions_.empty()) return Refusal::empty;
  if (!placed) return Refusal::hidden;
  // Of several names of one address the last is found: one that has a class.
  std::sort(map.functions_.begin(), map.functions_.end());
  return map;
}

std::string_view CopyMap::class_at(std::uint64_t address) const {
  const auto above = std::upper_bound(functions_.begin(), functions_.end(), address,
                                      [](std::uint64_t value, const auto& function) { return value < function.first; });
  return above == functions_.begin() ? std::string_view() : std::string_view(classes_[(above - 1)->second]);
}

std::optional<std::string_view> CopyMap::copies_for(std::span<const std::uint64_t> chain) const {
  if (chain.empty() || class_at(chain.front()) != kCopy) return std::nullopt;
  for (const std::uint64_t address : chain.subspan(1)) {
    // A return address: the call is before it, and after a last call it belongs to the next function.
    const std::string_view of_class = class_at(address - 1);
    if (of_class == kNotUser) return std::nullopt;
    if (!of_class.empty() && of_class != kCopy) return of_class;
  }
  return kOther;
}

}  // namespace gradsync
