// analyze PATH…: the same report from what people already have. Files are recognised by their content; several traces
// at once are the ranks of one job, tables that were measured beside it are laid on it, several recordings are not
// joined.
#include <CLI/CLI.hpp>
#include <thread>

#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/foreign_files.h"
#include "src/commands/named_files.h"
#include "src/commands/open_pack.h"
#include "src/commands/output.h"
#include "src/commands/recording_parts.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/rule_set.h"

namespace gradsync {
namespace {

class AnalyzeCommand final : public Command {
 public:
  std::string name() const override { return "analyze"; }
  std::string summary() const override {
    return "the same report from recordings and profiler traces that are there already";
  }

  void declare(CLI::App& app) override {
    app.add_option("PATH", paths_,
                   "a recording, a pack, or files that are there already: profiler traces, folders of them, patterns")
        ->required();
    app.add_option("--threads", threads_, "threads that read files and summarise ranks; as many as there are CPUs")
        ->check(CLI::Range(1, 256))
        ->type_name("N");
    declare_profiles(app, profiles_);
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    const Result<Report> report = analyze(*rules);
    if (!report) return print_error(report.error());
    if (const Result<void> shown = show_report(*report, output_); !shown) return print_error(shown.error());
    return gate(*report, output_);
  }

 private:
  Result<Report> analyze(const RuleSet& rules) const {
    const Result<OpenedPaths> opened = open_packs(paths_);
    if (!opened) return opened.error();
    Result<NamedFiles> named = name_files(opened->paths);
    if (!named) return named.error();
    Result<ProfileChoice> profiles = named_profiles(profiles_);
    if (!profiles) return profiles.error();
    const ExamineOptions options{threads_, std::move(*profiles)};
    if (!named->recordings.empty()) {
      Result<Report> report = analyze_recording(*named, *opened, rules, options);
      const std::string recording = named->recordings.front().string(), given = opened->given(recording);
      if (report && given != recording) report->run.recording = given;
      return report;
    }
    Inputs names;
    load_name_classes(rules, names);
    Result<ForeignJob> job = read_foreign_files(named->files, names.range_classes, threads_);
    if (!job) return job.error();
    job->inputs.run.command_line = paths_;
    if (!job->inputs.facts.contains("ranks.source")) job->inputs.facts["job"] = "none";  // tables of machines alone
    std::move(named->left_out.begin(), named->left_out.end(), std::back_inserter(job->inputs.coverage));
    Report report = conclude(std::move(job->ranks), std::move(job->inputs), rules, options);
    report.command = "analyze";
    return report;
  }

  // Tables that were measured beside it (a fabric's curve, interrupts) can be laid on a recording; events cannot.
  Result<Report> analyze_recording(const NamedFiles& named, const OpenedPaths& opened, const RuleSet& rules,
                                   const ExamineOptions& options) const {
    const std::filesystem::path& recording = named.recordings.front();
    const auto not_joined = [&](const std::string& other) {
      return Error{"cannot join a recording with", other, "", "analyze it alone", exit_status::kUsage};
    };
    if (named.recordings.size() > 1) return not_joined(opened.given(named.recordings[1].string()));
    if (named.files.empty()) return examine(recording, rules, options);
    Result<ForeignJob> job = read_foreign_files(named.files, {}, threads_);
    if (!job) return job.error();
    if (!job->ranks.empty()) return not_joined(named.files.front().string());
    Report parts = read_recording_parts(recording);
    for (auto& [name, series] : job->inputs.series) parts.series[name] = std::move(series);
    for (auto& [key, value] : job->inputs.facts) parts.facts.try_emplace(key, value);
    parts.coverage.insert(parts.coverage.end(), job->inputs.coverage.begin(), job->inputs.coverage.end());
    return examine(recording, parts, rules, options);
  }

  std::vector<std::string> paths_;
  int threads_ = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ProfileOptions profiles_;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace gradsync
