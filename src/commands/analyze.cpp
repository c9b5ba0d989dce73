// analyze PATH…: the same report from what people already have. Recognises by content.
#include <CLI/CLI.hpp>

#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/spool_reader/recording.h"

namespace gradsync {
namespace {

class AnalyzeCommand final : public Command {
 public:
  std::string name() const override { return "analyze"; }
  std::string summary() const override { return "the same report from recordings and profiler traces that are there already"; }

  void declare(CLI::App& app) override {
    app.add_option("PATH", paths_, "recording folders, or Chrome/Kineto traces (.json, .json.gz), one per rank")->required();
    app.add_option("--threads", threads_, "threads that summarise ranks")->check(CLI::Range(1, 256))->type_name("N");
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    ExamineOptions options;
    options.threads = threads_;
    const Result<Report> report = examine(paths_.front(), *rules, options);
    if (!report) return print_error(report.error());
    if (const Result<void> shown = show_report(*report, output_); !shown) return print_error(shown.error());
    return gate(*report, output_);
  }

 private:
  std::vector<std::string> paths_;
  int threads_ = 1;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace gradsync
