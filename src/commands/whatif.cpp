// whatif REPORT: what each remedy would save, from a report, or from a recording that is replayed with other fabrics.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "src/base/file.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/open_pack.h"
#include "src/commands/output.h"
#include "src/commands/report_source.h"
#include "src/commands/rule_options.h"
#include "src/commands/track_record.h"
#include "src/commands/whatif_report.h"
#include "src/export/ddp_hook.h"
#include "src/report/json.h"
#include "src/spool_reader/recording.h"

namespace gradsync {
namespace {

class WhatIfCommand final : public Command {
 public:
  std::string name() const override { return "whatif"; }
  std::string summary() const override { return "what each remedy would save, predicted by replaying the job's steps"; }

  void declare(CLI::App& app) override {
    app.add_option("REPORT", path_, "a report written with --json, a recording folder, or a pack")->required();
    app.add_option("--emit-hook", hook_, "write how to send each bucket as a communication hook for PyTorch's DDP")
        ->type_name("FILE");
    declare_profiles(app, profiles_);
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    Result<Report> job = load();
    if (!job) return print_error(job.error());
    const bool about_a_job = job->series.contains("whatif") || job->facts.contains("whatif");
    if (!about_a_job)
      return print_error({"cannot predict from", path_,
                          "it holds no steps of a job whose synchronisation was seen, or is older than predictions",
                          "gradsync-doctor run -- CMD", exit_status::kNothingUsable});
    const Report report = whatif_report(*job, read_track_record());
    if (!hook_.empty()) {
      const Result<std::string> text = ddp_hook_file(*job);
      if (!text) return print_error(text.error());
      if (const Result<void> written = write_file(hook_, *text); !written) return print_error(written.error());
      fmt::print(stderr, "gradsync-doctor: the hook is in {}\n", hook_);
    }
    if (const Result<void> shown = show_report(report, output_); !shown) return print_error(shown.error());
    return gate(report, output_);
  }

 private:
  bool with_profiles() const { return !profiles_.fabric.empty() || !profiles_.loads.empty(); }

  Result<Report> load() const {
    if (is_recording(path_)) return replayed(path_);
    if (is_pack(path_)) {
      const Result<OpenPack> pack = open_pack(path_);
      if (!pack) return pack.error();
      Result<Report> report = replayed(pack->recording);
      if (report) report->run.recording = path_;
      return report;
    }
    const Result<std::string> bytes = read_file(path_);
    if (!bytes) return bytes.error();
    Result<Report> report = report_from_json(*bytes, path_);
    if (!report) return report;
    const std::filesystem::path recording = recording_of(*report, path_);
    if (!recording.empty() && (with_profiles() || !report->series.contains("whatif"))) return replayed(recording);
    if (recording.empty() && with_profiles())
      return Error{"cannot predict for another fabric or other loads from", path_,
                   why_no_recording(*report) + ": what was predicted then can be shown without them", "whatif " + path_,
                   exit_status::kNothingUsable};
    if (recording.empty() && !report->run.recording.empty())
      report->coverage.push_back(
          {"recording", "", CoverageState::unavailable,
           why_no_recording(*report) + ": what was predicted then is shown, and nothing is predicted anew", "", 0});
    return report;
  }

  Result<Report> replayed(const std::filesystem::path& recording) const {
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return rules.error();
    Result<ProfileChoice> profiles = named_profiles(profiles_);
    if (!profiles) return profiles.error();
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return examine(recording, *rules, {threads, std::move(*profiles)});
  }

  std::string path_, hook_;
  ProfileOptions profiles_;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_whatif_command() { return std::make_unique<WhatIfCommand>(); }

}  // namespace gradsync
