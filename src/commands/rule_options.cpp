#include "src/commands/rule_options.h"

#include <CLI/CLI.hpp>

#include "src/diagnosis/rule_set.h"

namespace gradsync {

void declare_rules(CLI::App& app, RuleChoice& choice) {
  app.add_option("--rules", choice.folders, "add the rules of DIR; one with a built-in's id replaces it")->type_name("DIR");
  app.add_option("--set", choice.settings, "change a threshold, e.g. small-messages.comm.collectives_per_step=20")
      ->type_name("RULE.METRIC=VALUE");
}

Result<RuleSet> chosen_rules(const RuleChoice& choice) {
  RuleOptions options;
  options.folders.assign(choice.folders.begin(), choice.folders.end());
  options.settings = choice.settings;
  return load_rules(options);
}

}  // namespace gradsync
