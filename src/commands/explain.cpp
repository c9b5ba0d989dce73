// explain NAME: the page of a rule or of a remedy; or what is wrong with a command that somebody typed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "src/base/text.h"
#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "src/commands/explain_command.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/explain.h"
#include "src/diagnosis/remedy_page.h"
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

void print_remedy(const RemedyPage& page) {
  fmt::print("{} (a remedy; in whatif: {})\n{}\n\n{}\n", page.id, page.whatif_name(), page.title, page.what);
  fmt::print("\nPays\n  {}\n", page.pays);
  print_list("How", page.how);
  print_list("Pitfalls", page.pitfalls);
  if (!page.hook.empty()) fmt::print("\nA working hook for PyTorch: samples/remedies/{}\n", page.hook);
  fmt::print("\nPredicted: {}\nSource: {}\n", page.predicted, page.source);
}

class ExplainCommand final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string summary() const override {
    return "the page of a rule or remedy; what is wrong with a command of nsys, nccl-tests or perf";
  }

  void declare(CLI::App& app) override {
    app.add_option("NAME", name_, "a rule's id, as findings print it, or a remedy's; without one: every title");
    declare_typed_command(app, typed_);
    declare_rules(app, choice_);
  }

  int run() override {
    if (typed_.given()) {
      if (!name_.empty()) return wrong("a rule and a command were given", name_);
      const Result<int> status = explain_typed_command(typed_);
      return status ? *status : print_error(status.error());
    }
    if (!typed_.output.json.empty() || !typed_.output.fail_on.empty())
      return wrong("--json and --fail-on go with", "--nsys, --nccl-tests or --perf");
    const Result<RuleSet> rules = chosen_rules(choice_);
    if (!rules) return print_error(rules.error());
    const Result<std::vector<RemedyPage>> remedies = builtin_remedies();
    if (!remedies) return print_error(remedies.error());
    if (name_.empty()) return list(*rules, *remedies);
    if (const Rule* rule = rules->find(name_)) {
      print_page(explain(*rules, *rule));
    } else if (const RemedyPage* remedy = find_remedy(*remedies, name_)) {
      print_remedy(*remedy);
    } else {
      return print_error({"no rule or remedy is called", name_, "", "gradsync-doctor rules", exit_status::kUsage});
    }
    return exit_status::kDone;
  }

 private:
  static int wrong(const std::string& what, const std::string& on) {
    return print_error({what, on, "", "gradsync-doctor explain --help", exit_status::kUsage});
  }

  static int list(const RuleSet& rules, const std::vector<RemedyPage>& remedies) {
    for (const Rule& rule : rules.rules) fmt::print("{:<28} {}\n", rule.id, rule.title);
    fmt::print("\nRemedies\n");
    for (const RemedyPage& page : remedies) fmt::print("{:<28} {}\n", page.id, page.title);
    return exit_status::kDone;
  }

  std::string name_;
  TypedCommand typed_;
  RuleChoice choice_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace gradsync
