// verify REPORT -- CMD…: the job again, after an advice was applied: predicted against measured.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>

#include "src/base/text.h"
#include "src/commands/command.h"
#include "src/commands/compare_inputs.h"
#include "src/commands/exit_status.h"
#include "src/commands/job_run.h"
#include "src/commands/verify_report.h"

namespace gradsync {
namespace {

class VerifyCommand final : public Command {
 public:
  std::string name() const override { return "verify"; }
  std::string summary() const override {
    return "run the job again after an advice was applied: predicted and measured";
  }

  void declare(CLI::App& app) override {
    app.add_option("REPORT", before_.path, "of the job before: a report written with --json, or a recording")
        ->required();
    app.add_option("--remedy", remedy_, "what was applied, by its name in whatif; else it is told by what changed")
        ->type_name("NAME");
    job_.declare(app, Experiments::none);
  }

  int run() override {
    if (const Result<void> prepared = job_.prepare(); !prepared) return print_error(prepared.error());
    Result<Report> before = report_at(before_.path, job_.rules());
    if (!before) return print_error(before.error());
    before_.report = std::move(*before);
    if (const Result<void> may = may_verify(before_.report, before_.path); !may) return print_error(may.error());
    const std::vector<std::string> remedies = remedies_of(before_.report);
    if (!remedy_.empty() && std::find(remedies.begin(), remedies.end(), remedy_) == remedies.end())
      return print_error({"--remedy", remedy_, "the report does not speak of it",
                          remedies.empty() ? "leave it out" : "one of " + join(remedies, ", "), exit_status::kUsage});
    return job_.run([this](Report& report) { complete(report); });
  }

 private:
  void complete(Report& report) const {
    if (!may_verify(report, "this run")) {
      report.command = "verify";
      report.facts["verify.answer"] = "could not judge";
      report.facts["verify.remedy.how"] = "this run measured no steps";
      report.verdict.text = "Could not verify: this run measured no steps.\n" + report.verdict.text;
      return;
    }
    const Verification verification = verify(before_, {"this run", report}, remedy_, job_.rules());
    add_verification(verification, before_, report);
    const Result<TriedChange> change = verified_change(verification, report, std::time(nullptr));
    const Result<void> kept = change ? keep_track_record(*change) : Result<void>(change.error());
    report.facts["verify.record"] = kept ? "kept" : kept.error().message();
  }

  ComparedRun before_;
  std::string remedy_;
  JobRun job_;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<VerifyCommand>(); }

}  // namespace gradsync
