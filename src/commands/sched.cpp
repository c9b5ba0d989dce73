// sched: who waits for a CPU, live; what `perf sched record` and `latency` tell afterwards, without a data file.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>

#include "collectors/host/proc_sampler.h"
#include "collectors/host/sched_parts.h"
#include "collectors/host/ticker.h"
#include "src/base/environment.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/irq_trace.h"
#include "src/commands/launch.h"
#include "src/commands/output.h"
#include "src/commands/rule_options.h"
#include "src/commands/sched_table.h"

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
    app.add_option("--json", json_, "write the result as a report document to FILE; - is standard output")
        ->type_name("FILE");
    app.positionals_at_end();
  }

  int run() override {
    if (const std::optional<Error> wrong = wrong_use()) return print_error(*wrong);
    if (!duration_.empty()) limit_ = *parse_duration_ns(duration_);
    open();
    int status = exit_status::kDone;
    if (command_.empty()) {
      watch();
    } else {
      LaunchOptions options;
      options.command_line = command_;
      options.environment = own_environment();
      const Result<LaunchResult> launched = launch(options);
      if (!launched) return print_error(launched.error());
      status = launched->exit_status;
    }
    ended_ = monotonic_now();
    const int shown = finish();
    return status != 0 ? status : shown;
  }

 private:
  std::optional<Error> wrong_use() const {
    const auto usage = [](const char* on, const char* why) {
      return Error{"sched:", on, why, "gradsync-doctor sched --duration 10s", exit_status::kUsage};
    };
    if (pid_ != 0 && !command_.empty()) return usage("-p and CMD", "one of them only");
    if (!duration_.empty() && !command_.empty()) return usage("--duration and CMD", "CMD ends by itself");
    if (pid_ == 0 && command_.empty() && duration_.empty())
      return usage("nothing to watch", "give -p, CMD or --duration");
    if (!duration_.empty()) {
      const Result<std::int64_t> parsed = parse_duration_ns(duration_);
      if (!parsed || *parsed <= 0) return usage(duration_.c_str(), "not a duration above 0");
    }
    if (pid_ != 0 && !std::filesystem::exists("/proc/" + std::to_string(pid_)))
      return Error{"cannot watch process", std::to_string(pid_), "there is none of this number", "",
                   exit_status::kNothingUsable};
    return std::nullopt;
  }

  // The best tier that is allowed; /proc beside it or alone.
  void open() {
    const std::int64_t ancestor = command_.empty() ? pid_ : ::getpid();
    TraceOptions options;
    options.ancestor = ancestor;
    if (command_.empty()) options.itself = JobThreads::Ancestor::of_it;
    options.tier = tier_choice(tier_);
    sampler_.emplace("/", ancestor, command_.empty() ? Since::first_look : Since::birth);
    sampler_->look(monotonic_now());
    if (tier_ == "C") {
      refused_ = {"cannot trace the scheduler", "", "--tier C", ""};
    } else if (Result<std::unique_ptr<SchedTrace>> opened = SchedTrace::open(options); opened) {
      if (const Result<void> started = (*opened)->start(); started)
        trace_ = std::move(*opened);
      else
        refused_ = started.error();
    } else {
      refused_ = opened.error();
    }
    if (const Result<void> started = ticker_.start([this] { sampler_->look(monotonic_now()); }, kFirstLook); !started)
      refused_ = started.error();
    began_ = monotonic_now();
  }

  void watch() const {
    const EndSignals signals;
    const bool live = ::isatty(STDOUT_FILENO) == 1 && json_ != "-";
    for (;;) {
      const Nanoseconds left = limit_ > 0 ? began_ + limit_ - monotonic_now() : kRefresh;
      if (left <= 0 || signals.came(std::min(left, kRefresh))) return;
      if (pid_ != 0 && ::kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH) return;
      if (live && trace_) fmt::print("\x1b[H\x1b[2J{}", table(trace_->threads()));
      std::fflush(stdout);
    }
  }

  std::string table(const std::vector<ThreadSeen>& threads) const {
    return sched_table(threads, static_cast<std::size_t>(rows_), trace_ ? trace_->windows().front().first : 0);
  }

  int finish() {
    ticker_.stop();
    RecordingParts parts;
    std::vector<ThreadSeen> threads;
    if (trace_) {
      trace_->stop();
      add_sched_parts(*trace_, parts);
      threads = trace_->threads();
    }
    sampler_->finish(monotonic_now());
    sampler_->add_parts(parts);
    if (!trace_) {
      for (ThreadWait& wait : sampler_->threads().waits()) threads.push_back({std::move(wait), 0, unknown_wait(""), 0});
      parts.coverage.push_back(
          {"scheduler trace", "B", CoverageState::unavailable, refused_.message(), refused_.hint, 0});
    }
    if (json_ != "-") {
      fmt::print("{}", table(threads));
      for (const Coverage& entry : parts.coverage)
        if (entry.source.starts_with("scheduler"))
          fmt::print("{} (tier {}): {}\n", entry.source, entry.tier, entry.reason.empty() ? "collected" : entry.reason);
      if (parts.facts.contains("sched.cross_check")) fmt::print("cross-check: {}\n", parts.facts["sched.cross_check"]);
    }
    return json_.empty() ? exit_status::kDone : write_report(std::move(parts));
  }

  int write_report(RecordingParts parts) const {
    const Result<RuleSet> rules = chosen_rules({});
    if (!rules) return print_error(rules.error());
    Inputs inputs;
    inputs.run.command_line = command_;
    inputs.run.seconds = static_cast<double>(ended_ - began_) * 1e-9;
    inputs.series = std::move(parts.series);
    inputs.facts = std::move(parts.facts);
    inputs.facts["job"] = "none";
    inputs.coverage = std::move(parts.coverage);
    Report report = conclude({}, std::move(inputs), *rules, {});
    report.command = "sched";
    const Result<void> written = write_json_report(report, json_);
    return written ? exit_status::kDone : print_error(written.error());
  }

  static constexpr Nanoseconds kRefresh = 1'000'000'000, kFirstLook = 300'000'000;
  std::vector<std::string> command_;
  std::int64_t pid_ = 0, rows_ = 40;
  std::string duration_, json_, tier_ = "best";
  Nanoseconds limit_ = 0, began_ = 0, ended_ = 0;
  Error refused_;
  std::unique_ptr<SchedTrace> trace_;
  std::optional<ProcSampler> sampler_;
  Ticker ticker_;
};

}  // namespace

std::unique_ptr<Command> make_sched_command() { return std::make_unique<SchedCommand>(); }

}  // namespace gradsync
