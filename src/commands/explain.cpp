// explain RULE: the page of a rule.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "src/base/text.h"
#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/explain.h"

#include "src/diagnosis/rule_set.h"

namespace gradsync {
namespace {

void print_list(const char* heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", heading);
  for (const std::string& line : lines) fmt::print("  - {}\n", line);
}

void print_page(const RulePage& page) {
  fmt::print("{} ({}, diagnostic step {}, for each: {})\n{}\n", page.id, page.severity, page.step, page.for_each,
             page.title);
  if (!page.why.empty()) fmt::print("\n{}\n", page.why);
  fmt::print("\nHolds when\n");
  for (const RuleThreshold& threshold : page.thresholds) {
    fmt::print("  - {}\n", threshold.text);
    if (!threshold.from.empty()) fmt::print("      from: {}\n", threshold.from);
  }
  print_list("Does not judge when", page.not_judged);
  print_list("Try", page.advice);
  print_list("Its symptoms, folded below it", page.explains);
  print_list("Folded below", page.explained_by);
  print_list("Its advice is followed", page.order);
  if (!page.known_issue.empty()) fmt::print("\nReported: {}\n", page.known_issue);
  if (!page.saves.empty()) fmt::print("\nSaving: {}\n", page.saves);
  if (!page.judged_by.empty()) fmt::print("Sensitivity from: {}\n", page.judged_by);
  if (!page.hint.empty()) fmt::print("When it cannot judge: {}\n", page.hint);
}

class ExplainCommand final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string summary() const override { return "the page of a rule: what it means, its thresholds, what to do"; }

  void declare(CLI::App& app) override {
    app.add_option("RULE", rule_, "a rule's id, as findings print it; without one: every rule's title");
    declare_rules(app, choice_);
  }

  int run() override {
    const Result<RuleSet> rules = chosen_rules(choice_);
    if (!rules) return print_error(rules.error());
    if (rule_.empty()) {
      for (const Rule& rule : rules->rules) fmt::print("{:<28} {}\n", rule.id, rule.title);
      return exit_status::kDone;
    }
    const Rule* rule = rules->find(rule_);
    if (rule == nullptr)
      return print_error({"no rule is called", rule_, "", "gradsync-doctor rules", exit_status::kUsage});
    print_page(explain(*rules, *rule));
    return exit_status::kDone;
  }

 private:
  std::string rule_;
  RuleChoice choice_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace gradsync
