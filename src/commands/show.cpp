// show: draws a report again, or a recording after examining it again.
#include <CLI/CLI.hpp>

#include "src/base/file.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/open_pack.h"
#include "src/commands/output.h"
#include "src/commands/report_files.h"
#include "src/commands/report_source.h"
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
    app.add_option("PATH", path_, "a report written with --json, a recording folder, or a pack")->required();
    declare_rules(app, rules_);
    declare_report_files(app, file_options_);
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    Result<ReportFiles> files = ReportFiles::open(file_options_, output_);
    if (!files) return print_error(files.error());
    Result<OpenedPaths> opened = open_packs({path_});
    if (!opened) return print_error(opened.error());
    const std::string& path = opened->paths.front();
    Result<Report> report = load(path, *rules);
    if (!report) return print_error(report.error());
    if (!opened->packs.empty()) report->run.recording = path_;
    if (const Result<void> shown = draw(*report, *files); !shown) return print_error(shown.error());
    const ReportSubject subject{*report, is_recording(path) ? std::filesystem::path(path) : recording_of(*report, path),
                                path_};
    if (const Result<void> written = files->write(subject, *rules, severity_of(output_.fail_on)); !written)
      return print_error(written.error());
    return gate(*report, output_);
  }

 private:
  Result<void> draw(const Report& report, const ReportFiles& files) const {
    return files.own_stdout() ? write_report_files(report, output_) : show_report(report, output_);
  }

  static Result<Report> load(const std::string& path, const RuleSet& rules) {
    if (is_recording(path)) return examine(path, rules);
    const Result<std::string> bytes = read_file(path);
    if (!bytes) return bytes.error();
    return report_from_json(*bytes, path);
  }

  std::string path_;
  RuleChoice rules_;
  ReportFileOptions file_options_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_show_command() { return std::make_unique<ShowCommand>(); }

}  // namespace gradsync
