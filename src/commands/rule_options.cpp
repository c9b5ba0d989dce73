#include "src/commands/rule_options.h"

#include <CLI/CLI.hpp>

#include "src/diagnosis/rule_set.h"

namespace gradsync {

void declare_rules(CLI::App& app, RuleChoice& choice) {
  // One value each time: an option that takes all it can get would swallow the CMD or RULE behind it.
  app.add_option("--rules", choice.folders,
                 "add the rules of DIR; one with a built-in's id replaces it; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--set", choice.settings,
                 "change a threshold, e.g. small-messages.comm.collectives_per_step=20; may be repeated")
      ->type_name("RULE.METRIC=VALUE")
      ->allow_extra_args(false);
}

Result<RuleSet> chosen_rules(const RuleChoice& choice) {
  RuleOptions options;
  options.folders.assign(choice.folders.begin(), choice.folders.end());
  options.settings = choice.settings;
  options.file = choice.file;
  return load_rules(options);
}

}  // namespace gradsync
