// --rules DIR and --set RULE.METRIC=VALUE, for every command that judges.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"

namespace CLI {
class App;
}

namespace gradsync {

struct RuleChoice {
  std::vector<std::string> folders;
  std::vector<std::string> settings;
  std::string file;  // of rules --check FILE
};

void declare_rules(CLI::App& app, RuleChoice& choice);
Result<RuleSet> chosen_rules(const RuleChoice& choice);

}  // namespace gradsync
