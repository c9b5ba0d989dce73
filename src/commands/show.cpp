// show: draws a report again, or a recording after examining it again.
#include <CLI/CLI.hpp>

#include "src/base/file.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/report/json.h"
#include "src/spool_reader/recording.h"

namespace gradsync {
namespace {

class ShowCommand final : public Command {
 public:
  std::string name() const override { return "show"; }
  std::string summary() const override { return "draw a report (JSON) or a recording again"; }

  void declare(CLI::App& app) override {
    app.add_option("PATH", path_, "a report written with --json, or a recording folder")->required();
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    const Result<Report> report = load();
    if (!report) return print_error(report.error());
    if (const Result<void> shown = show_report(*report, output_); !shown) return print_error(shown.error());
    return gate(*report, output_);
  }

 private:
  Result<Report> load() const {
    if (is_recording(path_)) {
      const Result<RuleSet> rules = chosen_rules(rules_);
      if (!rules) return rules.error();
      return examine(path_, *rules);
    }
    const Result<std::string> bytes = read_file(path_);
    if (!bytes) return bytes.error();
    return report_from_json(*bytes, path_);
  }

  std::string path_;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace gradsync
