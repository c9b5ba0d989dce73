// rules: the list; --check runs the examples that every rule carries.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "src/base/file.h"
#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/check_rules.h"
#include "src/diagnosis/known_names.h"
#include "src/diagnosis/rule_set.h"

namespace gradsync {
namespace {

class RulesCommand final : public Command {
 public:
  std::string name() const override { return "rules"; }
  std::string summary() const override { return "list the rules, their settable thresholds, or check their examples"; }

  void declare(CLI::App& app) override {
    auto* check = app.add_flag("--check", check_, "run every rule's own examples; exit with 4 when one fails");
    app.add_option("FILE", choice_.file, "with --check: check the rules of this file alone, and their names")
        ->needs(check);
    app.add_flag("--settable", settable_, "list every threshold that --set can change, with its value")
        ->excludes(check);
    declare_rules(app, choice_);
  }

  int run() override {
    const Result<RuleSet> rules = chosen_rules(choice_);
    if (!rules) return print_error(rules.error());
    if (check_) return choice_.file.empty() ? check(check_rules(*rules)) : check_file(*rules);
    if (settable_) {
      for (const std::string& line : gradsync::settable(*rules)) fmt::print("{}\n", line);
      return exit_status::kDone;
    }
    fmt::print("rule set {}\n", rules->version);
    for (const Rule& rule : rules->rules)
      fmt::print("{} {:<8} {:<28} {}\n", rule.step, to_string(rule.severity), rule.id, rule.title);
    return exit_status::kDone;
  }

 private:
  int check_file(const RuleSet& rules) const {
    const RuleSet own = rules_of_file(rules, choice_.file);
    RuleCheck result = check_rules(own);
    const Result<std::string> text = read_file(choice_.file);
    for (const Rule& rule : own.rules) {
      std::vector<RuleProblem> unknown = unknown_names(rule, text ? *text : std::string());
      result.problems.insert(result.problems.end(), unknown.begin(), unknown.end());
    }
    return check(result);
  }

  static int check(const RuleCheck& result) {
    for (const RuleProblem& problem : result.problems)
      fmt::print(stderr, "{}:{}: {}: {}\n", problem.file, problem.line, problem.rule, problem.what);
    fmt::print("{} rules, {} examples, {} problems\n", result.rules, result.examples, result.problems.size());
    return result.passed() ? exit_status::kDone : exit_status::kSelfCheckFailed;
  }

  bool check_ = false, settable_ = false;
  RuleChoice choice_;
};

}  // namespace

std::unique_ptr<Command> make_rules_command() { return std::make_unique<RulesCommand>(); }

}  // namespace gradsync
