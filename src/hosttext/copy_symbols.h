// Which functions of the kernel copy for users and who called them: the list rules/copy_symbols.txt laid over a kernel's
// own symbols. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace gradsync {

class CopySymbols {
 public:
  // The list's text; nothing where a line has a class and no name.
  static std::optional<CopySymbols> parse(std::string_view text);
  static const CopySymbols& builtin();

  // "copy", "send", "not_user", …; empty for a name that no line has.
  std::string_view class_of(std::string_view function) const;

 private:
  std::unordered_map<std::string, std::string> whole_;  // name → class; a kernel has more names than fit a search
  std::vector<std::pair<std::string, std::string>> beginnings_;
};

// A kernel's functions by address, each with its class in the list.
class CopyMap {
 public:
  enum class Refusal { hidden, empty };  // all addresses are 0; no function in it

  // `kallsyms`: "ffffffff81000000 T _stext [module]", a line each.
  static std::variant<CopyMap, Refusal> parse(std::string_view kallsyms, const CopySymbols& symbols);

  // Where a sample stands: its call chain, the innermost address first, addresses of the kernel only.
  // Nothing: in no copy for a user. Else who asked for it: "send", "receive", …, "other".
  std::optional<std::string_view> copies_for(std::span<const std::uint64_t> chain) const;

  std::size_t functions() const { return functions_.size(); }
  std::size_t copying() const { return copying_; }  // functions of class copy

 private:
  std::string_view class_at(std::uint64_t address) const;

  std::vector<std::string> classes_;  // [0] is ""
  std::vector<std::pair<std::uint64_t, std::uint8_t>> functions_;
  std::size_t copying_ = 0;
};

}  // namespace gradsync
