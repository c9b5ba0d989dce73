// The page of a remedy: what it does to a step, when it pays, how it is made. rules/remedies/*.toml, one file each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule_set.h"

namespace gradsync {

struct RemedyPage {
  std::string id;  // "two-level"; what-if calls it two_level
  std::string title;
  std::string what;              // it does
  std::string pays;              // when
  std::vector<std::string> how;  // it is made, step by step
  std::vector<std::string> pitfalls;
  std::string hook;       // a file of samples/remedies; empty: none
  std::string predicted;  // what what-if says of it, and what it needs for that
  std::string source;

  std::string whatif_name() const;  // "two_level"
};

// rules/remedies/*.toml as they were when the program was built.
const std::vector<RuleFile>& builtin_remedy_files();

// By id.
Result<std::vector<RemedyPage>> builtin_remedies();
Result<RemedyPage> parse_remedy(const RuleFile& file);

// By its id or by the name that what-if has for it.
const RemedyPage* find_remedy(const std::vector<RemedyPage>& pages, std::string_view name);

}  // namespace gradsync
