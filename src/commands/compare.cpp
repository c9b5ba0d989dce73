// compare A B: two runs, or two sets of runs, against each other: the step, its classes, findings, and what else is not
// the same. --gate is for continuous integration.
#include <CLI/CLI.hpp>

#include "src/base/units.h"
#include "src/commands/command.h"
#include "src/commands/compare_inputs.h"
#include "src/commands/compare_report.h"
#include "src/commands/exit_status.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"

namespace gradsync {
namespace {

class CompareCommand final : public Command {
 public:
  std::string name() const override { return "compare"; }
  std::string summary() const override {
    return "two runs, or two sets of runs: did the step change, and what made it";
  }

  void declare(CLI::App& app) override {
    app.add_option("A", before_, "before: a report, a recording, or a folder of several")->required();
    app.add_option("B", after_, "after: likewise")->required();
    // With =, so that it does not swallow the A behind it.
    gate_option_ = app.add_flag("--gate{5}", gate_,
                                "exit with 10 when B's step is longer by more than this share (--gate=5, in percent), "
                                "11 when that cannot be told");
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    std::optional<double> percent;
    if (gate_option_->count() > 0) {
      const Result<double> limit = parse_percent(gate_);
      if (!limit)
        return print_error(
            {"--gate", gate_, limit.error().why, "--gate=5, in percent of A's step", exit_status::kUsage});
      percent = *limit;
    }
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    const Result<ComparedInput> before = compared_input(before_, *rules), after = compared_input(after_, *rules);
    for (const auto* input : {&before, &after})
      if (!*input) return print_error(input->error());
    Report report = compare_report(before->runs, after->runs, percent);
    for (const auto* input : {&before, &after})
      report.coverage.insert(report.coverage.end(), (*input)->left_out.begin(), (*input)->left_out.end());
    if (const Result<void> shown = show_report(report, output_); !shown) return print_error(shown.error());
    return status(report);
  }

 private:
  int status(const Report& report) const {
    const int by_findings = gradsync::gate(report, output_);
    const auto answer = report.facts.find("compare.gate");
    if (answer == report.facts.end() || by_findings != exit_status::kDone) return by_findings;
    if (answer->second == to_string(GateAnswer::regression)) return exit_status::kFinding;
    return answer->second == to_string(GateAnswer::passed) ? exit_status::kDone : exit_status::kInconclusive;
  }

  std::string before_, after_, gate_;
  const CLI::Option* gate_option_ = nullptr;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace gradsync
