// analyze PATH…: the same report from what people already have. Files are recognised by their content; several traces
// at once are the ranks of one job, several recordings are not joined.
#include <CLI/CLI.hpp>

#include "collectors/import/kineto.h"
#include "collectors/import/recognise.h"
#include "src/base/units.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/rule_set.h"
#include "src/spool_reader/recording.h"
#include "src/timeline/builder.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

// Traces of one job, each a process of its own; a file that cannot be read is coverage unless it is the only one.
class TraceJob {
 public:
  explicit TraceJob(const RuleSet& rules) : builder_(rules.ranges) {}

  Result<void> add(const fs::path& path) {
    ImportOptions options;
    ProcessInfo process;
    process.host = "trace";  // traces carry no host
    process.pid = static_cast<std::int64_t>(++files_);
    process.command = path.string();
    process.exited_cleanly = true;
    options.process = process;
    const Result<ImportStats> stats = import_kineto(path, options, builder_);
    Coverage coverage{"trace " + path.filename().string(), "", CoverageState::collected, "", "", 0};
    if (!stats) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = stats.error().message();
      coverage.hint = stats.error().hint;
      inputs_.coverage.push_back(coverage);
      return stats.error();
    }
    coverage.lost = static_cast<std::int64_t>(stats->lost);
    if (stats->lost > 0 || stats->cut) {
      coverage.state = CoverageState::partial;
      coverage.reason = stats->loss_reason;
    }
    inputs_.coverage.push_back(coverage);
    const std::string rank = stats->rank.rank ? std::to_string(*stats->rank.rank) : "none, by order";
    rank_sources_ += (rank_sources_.empty() ? "" : "; ") + path.filename().string() + ": " + rank + " (" +
                     to_string(stats->rank.source) + ")";
    ++read_;
    return {};
  }

  Result<Report> report(const RuleSet& rules, const ExamineOptions& options, std::vector<std::string> command_line) {
    const std::vector<RankTimeline> ranks = builder_.build();
    inputs_.run.command_line = std::move(command_line);
    inputs_.facts["ranks.source"] = rank_sources_;
    inputs_.one_clock = files_ == 1;  // each trace has a clock of its own
    Report report = conclude(ranks, std::move(inputs_), rules, options);
    report.command = "analyze";
    return report;
  }

  int read() const { return read_; }

 private:
  TimelineBuilder builder_;
  Inputs inputs_;
  std::string rank_sources_;
  std::size_t files_ = 0;
  int read_ = 0;
};

class AnalyzeCommand final : public Command {
 public:
  std::string name() const override { return "analyze"; }
  std::string summary() const override {
    return "the same report from recordings and profiler traces that are there already";
  }

  void declare(CLI::App& app) override {
    app.add_option("PATH", paths_, "a recording folder, or Chrome/Kineto traces (.json, .json.gz), one per rank")
        ->required();
    app.add_option("--threads", threads_, "threads that summarise ranks")->check(CLI::Range(1, 256))->type_name("N");
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    const Result<Report> report = analyze(*rules);
    if (!report) return print_error(report.error());
    if (const Result<void> shown = show_report(*report, output_); !shown) return print_error(shown.error());
    return gate(*report, output_);
  }

 private:
  Result<Report> analyze(const RuleSet& rules) const {
    ExamineOptions options;
    options.threads = threads_;
    if (paths_.size() == 1 && is_recording(paths_.front())) return examine(paths_.front(), rules, options);
    TraceJob job(rules);
    std::optional<Error> first_error;
    for (const std::string& path : paths_) {
      if (is_recording(path))
        return Error{"cannot join a recording with other files", path, "", "analyze it alone", exit_status::kUsage};
      if (const Result<void> kind = check_chrome_trace(path); !kind) return kind.error();
      if (const Result<void> added = job.add(path); !added && !first_error) first_error = added.error();
    }
    if (job.read() == 0) return *first_error;
    return job.report(rules, options, paths_);
  }

  std::vector<std::string> paths_;
  int threads_ = 1;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_analyze_command() { return std::make_unique<AnalyzeCommand>(); }

}  // namespace gradsync
