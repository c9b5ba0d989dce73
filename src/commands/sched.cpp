// sched: who waits for a CPU, live; what `perf sched record` and `latency` tell afterwards, without a data file.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "src/base/environment.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/launch.h"
#include "src/commands/output.h"
#include "src/commands/root_options.h"
#include "src/commands/rule_options.h"
#include "src/commands/sched_watch.h"

namespace gradsync {
namespace {

// Ctrl-C ends the watching and shows the table. Blocked while somebody watches, so that none is missed.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  // Whether one came within `wait`.
  bool came(Nanoseconds wait) const {
    const timespec time{wait / 1'000'000'000, wait % 1'000'000'000};
    return ::sigtimedwait(&set_, nullptr, &time) > 0;
  }

 private:
  sigset_t set_{}, before_{};
};

class SchedCommand final : public Command {
 public:
  std::string name() const override { return "sched"; }
  std::string summary() const override { return "who waits for a CPU: wake-ups, preemptions, migrations, live"; }

  void declare(CLI::App& app) override {
    app.add_option("CMD", command_, "watch this command, after --, until it ends");
    app.add_option("-p,--pid", pid_, "watch this process and its children")
        ->check(CLI::Range(1, 4194304))
        ->type_name("PID");
    app.add_option("--duration", duration_, "end after this time, e.g. 10s; alone: watch every thread of the machine")
        ->type_name("DURATION");
    app.add_option("-n,--rows", rows_, "threads to show")->check(CLI::Range(1, 100000))->type_name("N");
    app.add_option("--tier", tier_,
                   "how to watch: A eBPF, B perf rings, C /proc alone; best: the first that is allowed")
        ->check(CLI::IsMember({"best", "A", "B", "C"}))
        ->type_name("TIER");
    declare_roots(app, root_options_);
    declare_json_and_html(app, output_);
    app.positionals_at_end();
  }

  int run() override {
    roots_ = root_options_.roots();
    if (const std::optional<Error> wrong = wrong_use()) return print_error(*wrong);
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    if (!duration_.empty()) limit_ = *parse_duration_ns(duration_);
    watch_.emplace(watch_options());
    began_ = monotonic_now();
    int status = exit_status::kDone;
    if (!command_.empty()) {
      const Result<LaunchResult> launched = launch_command();
      if (!launched) return print_error(launched.error());
      status = launched->exit_status;
    } else if (is_picture()) {
      watch_->look_once();
    } else {
      watch_->start();
      began_ = monotonic_now();  // a busy machine takes its time to load the tracer
      wait_for_end();
    }
    ended_ = monotonic_now();
    const int shown = finish();
    return status != 0 ? status : shown;
  }

 private:
  // A copy of a machine's files stands still: all that it tells is in one look.
  bool is_picture() const { return !roots_.live() && limit_ == 0; }

  std::optional<Error> wrong_use() const {
    const auto usage = [](const char* on, const char* why) {
      return Error{"sched:", on, why, "gradsync-doctor sched --duration 10s", exit_status::kUsage};
    };
    if (pid_ != 0 && !command_.empty()) return usage("-p and CMD", "one of them only");
    if (!duration_.empty() && !command_.empty()) return usage("--duration and CMD", "CMD ends by itself");
    if (!roots_.live() && !command_.empty())
      return usage("--root and CMD", "a command runs on this machine, and the files may be another's");
    if (!roots_.live() && (tier_ == "A" || tier_ == "B"))
      return usage("--root and --tier", "of files alone there is tier C only");
    if (roots_.live() && pid_ == 0 && command_.empty() && duration_.empty())
      return usage("nothing to watch", "give -p, CMD or --duration");
    if (!duration_.empty()) {
      const Result<std::int64_t> parsed = parse_duration_ns(duration_);
      if (!parsed || *parsed <= 0) return usage(duration_.c_str(), "not a duration above 0");
    }
    if (pid_ != 0 && !std::filesystem::exists(roots_.proc / std::to_string(pid_)))
      return Error{"cannot watch process", std::to_string(pid_), "there is none of this number", "",
                   exit_status::kNothingUsable};
    return std::nullopt;
  }

  WatchOptions watch_options() const {
    WatchOptions options;
    options.roots = roots_;
    options.subject = !command_.empty() ? Watched::command : pid_ != 0 ? Watched::process : Watched::machine;
    options.pid = pid_;
    options.tier = tier_;
    options.since = options.subject == Watched::command || is_picture() ? Since::birth : Since::first_look;
    return options;
  }

  Result<LaunchResult> launch_command() {
    watch_->start();
    LaunchOptions options;
    options.command_line = command_;
    options.environment = own_environment();
    return launch(options);
  }

  void wait_for_end() const {
    const EndSignals signals;
    const bool live = ::isatty(STDOUT_FILENO) == 1 && !owns_stdout(output_);
    for (;;) {
      const Nanoseconds left = limit_ > 0 ? began_ + limit_ - monotonic_now() : kRefresh;
      if (left <= 0 || signals.came(std::min(left, kRefresh))) return;
      if (pid_ != 0 && !std::filesystem::exists(roots_.proc / std::to_string(pid_))) return;
      if (live) fmt::print("\x1b[H\x1b[2J{}", sched_table(watch_->table(), static_cast<std::size_t>(rows_)));
      std::fflush(stdout);
    }
  }

  int finish() {
    const Result<RuleSet> rules = chosen_rules({});
    if (!rules) return print_error(rules.error());
    RecordingParts parts = watch_->finish();
    const SchedTable table = watch_->table();
    if (!roots_.live() && table.threads.empty())
      return print_error({"cannot look at threads below", roots_.proc.string(), "no thread there has a schedstat",
                          "copy PID/task/TID/schedstat, status and sched of each as well",
                          exit_status::kNothingUsable});
    const Report report = report_of(std::move(parts), *rules);
    if (!owns_stdout(output_))
      fmt::print("{}{}", sched_table(table, static_cast<std::size_t>(rows_)), sched_notes(report));
    const Result<void> written = write_report_files(report, output_);
    return written ? exit_status::kDone : print_error(written.error());
  }

  Report report_of(RecordingParts parts, const RuleSet& rules) const {
    Inputs inputs;
    inputs.run.command_line = command_;
    inputs.run.seconds = is_picture() ? 0 : static_cast<double>(ended_ - began_) * 1e-9;
    inputs.series = std::move(parts.series);
    inputs.facts = std::move(parts.facts);
    inputs.facts["job"] = "none";
    inputs.coverage = std::move(parts.coverage);
    Report report = conclude({}, std::move(inputs), rules, {});
    report.command = "sched";
    return report;
  }

  static constexpr Nanoseconds kRefresh = 1'000'000'000;
  std::vector<std::string> command_;
  std::int64_t pid_ = 0, rows_ = 40;
  std::string duration_, tier_ = "best";
  OutputOptions output_;
  Nanoseconds limit_ = 0, began_ = 0, ended_ = 0;
  RootOptions root_options_;
  IrqRoots roots_;
  std::optional<SchedWatch> watch_;
};

}  // namespace

std::unique_ptr<Command> make_sched_command() { return std::make_unique<SchedCommand>(); }

}  // namespace gradsync
