// irq: where interrupts come, where they had better come, and the change as a transaction.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "src/affinity/restore.h"
#include "src/base/units.h"
#include "src/commands/command.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/irq_kernel.h"
#include "src/commands/irq_measure.h"
#include "src/commands/irq_report.h"
#include "src/commands/irq_trace.h"
#include "src/commands/output.h"
#include "src/commands/root_options.h"
#include "src/commands/rule_options.h"
#include "src/diagnosis/rule_set.h"

namespace gradsync {
namespace {

constexpr double kPictureSeconds = 5, kCompareSeconds = 30;

Error usage(std::string option, std::string given, std::string why) {
  return {"cannot use " + std::move(option), std::move(given), std::move(why), "gradsync-doctor irq --help",
          exit_status::kUsage};
}

// "5", "2.5" (seconds), "500ms", "1min".
Result<double> seconds_of(const std::string& text, const char* option) {
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && stop == text.data() + text.size() && std::isfinite(seconds) && seconds >= 0 &&
      seconds <= 86400)
    return seconds;
  const Result<std::int64_t> duration = parse_duration_ns(text);
  if (!duration) return usage(option, text, "seconds, or a duration such as 500ms or 2s");
  return static_cast<double>(*duration) * 1e-9;
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

class IrqCommand final : public Command {
 public:
  std::string name() const override { return "irq"; }
  std::string summary() const override {
    return "interrupts by device, queue and CPU; move them where they hurt least, and back";
  }

  void declare(CLI::App& app) override {
    app.add_option("--duration", duration_text_,
                   "how long to count, in seconds or as 500ms, 1min; default 5, with --fix 30 before and after")
        ->type_name("S");
    app.add_option("--device", plan_.devices, "only this device: interface, PCI address or name; may be repeated")
        ->type_name("D");
    app.add_option("--irq", plan_.irqs, "only this interrupt; may be repeated")->type_name("N");
    app.add_option("--cpus", cpus_text_, "only these CPUs may serve interrupts, as 0-3,8")->type_name("LIST");
    app.add_option("-p,--pid", training_, "a process of the training: its CPUs are kept free; may be repeated")
        ->type_name("PID");
    auto* fix = app.add_flag("--fix", fix_, "apply the plan, check that it helps, take it back when not");
    app.add_flag("--dry-run", dry_run_, "with --fix: stop before anything is written")->needs(fix);
    app.add_flag("--keep", keep_, "with --fix: keep the change also when no difference is shown")->needs(fix);
    app.add_flag("--force", force_, "allow other NUMA nodes; with --undo also what somebody changed since");
    app.add_option("--verify-seconds", verify_text_, "with --fix: how long to wait for moved interrupts; default 5")
        ->type_name("N");
    app.add_option("--undo", undo_file_, "put back what an earlier --fix changed, from FILE or this boot's journal")
        ->expected(0, 1)
        ->excludes(fix)
        ->type_name("FILE");
    app.add_option("--tier", tier_, "how to time handlers: A eBPF, B perf rings, C not at all; best: the first allowed")
        ->check(CLI::IsMember({"best", "A", "B", "C"}))
        ->type_name("TIER");
    app.add_option("--journal", folder_, "folder of the journal")->type_name("DIR");
    declare_roots(app, root_options_);
    declare_rules(app, rules_);
    declare_output(app, output_);
    app_ = &app;
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    if (const Result<void> checked = check_options(); !checked) return print_error(checked.error());
    if (app_->count("--undo") > 0) return undo();
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    LiveIrqKernel kernel(roots_);
    Result<IrqPicture> picture = look(kernel);
    if (!picture) return print_error(picture.error());
    if (kernel.signal() != 0) return exit_status::kSignalBase + kernel.signal();
    Inputs inputs;
    add_picture(*picture, inputs);
    if (const auto open = open_journal(folder_, picture->snapshot.boot_id); open && roots_.live())
      inputs.coverage.push_back(earlier_change(*open));
    int status = exit_status::kDone;
    if (fix_ && !dry_run_) {
      const Result<TransactionResult> result = fix(*picture, kernel);
      if (!result) return print_error(result.error());
      add_result(*result, inputs);
      status = status_of(*result, kernel);
    }
    const Report report = report_of(std::move(inputs), *rules);
    if (const Result<void> shown = show_report(report, output_); !shown) return print_error(shown.error());
    return status == exit_status::kDone ? gate(report, output_) : status;
  }

 private:
  Result<void> check_options() {
    roots_ = root_options_.roots();
    if (!roots_.live() && ((fix_ && !dry_run_) || app_->count("--undo") > 0))
      return usage("--root with --fix or --undo", roots_.proc.string(), "a copy of another machine is not changed");
    if (app_->count("--cpus") > 0) {
      plan_.cpus = parse_cpu_list(cpus_text_);
      if (!plan_.cpus || plan_.cpus->empty()) return usage("--cpus", cpus_text_, "a list of CPUs such as 0-3,8");
    }
    if (force_) plan_.numa = NumaRule::any_node;
    const Result<double> duration = seconds_of(duration_text_.empty() ? "5" : duration_text_, "--duration");
    if (!duration) return duration.error();
    picture_seconds_ = duration_text_.empty() ? kPictureSeconds : *duration;
    compare_seconds_ = duration_text_.empty() ? kCompareSeconds : *duration;
    const Result<double> verify = seconds_of(verify_text_, "--verify-seconds");
    if (!verify) return verify.error();
    verify_seconds_ = *verify;
    return {};
  }

  Result<IrqPicture> look(LiveIrqKernel& kernel) const {
    Result<IrqSnapshot> snapshot = read_irq_snapshot(roots_, training_);
    if (!snapshot) return snapshot.error();
    if (const auto unknown = unknown_names(*snapshot, plan_); !unknown.empty()) {
      std::string known;
      for (const auto& [key, device] : snapshot->devices) known += (known.empty() ? "" : ", ") + device.label;
      return usage("--device or --irq", unknown.front(), "not among this machine's interrupts; devices: " + known);
    }
    std::optional<IrqTrace> trace;
    if (roots_.live() && picture_seconds_ > 0) trace.emplace(tier_);
    const Result<IrqCounters> before = read_irq_counters(roots_, steady_seconds());
    if (!before) return before.error();
    kernel.wait(milliseconds(picture_seconds_));
    const Result<IrqCounters> after = read_irq_counters(roots_, steady_seconds());
    if (!after) return after.error();
    IrqPicture picture{std::move(*snapshot), {}, {}, {}};
    picture.interval = irq_interval(*before, *after, picture.snapshot.host);
    if (trace) picture.timed = trace->finish(picture.interval.rates);
    picture.plan = plan_interrupts(picture.snapshot, picture.interval.rates, plan_);
    return picture;
  }

  Result<TransactionResult> fix(const IrqPicture& picture, LiveIrqKernel& kernel) const {
    TransactionInputs inputs{picture.snapshot, picture.plan, {}, {}, utc_now(), ::getpid()};
    inputs.plan_again = [&]() -> Result<std::pair<IrqSnapshot, IrqPlan>> {
      Result<IrqSnapshot> now = read_irq_snapshot(roots_, training_);
      if (!now) return now.error();
      IrqPlan plan = plan_interrupts(*now, picture.interval.rates, plan_);
      return std::pair(std::move(*now), std::move(plan));
    };
    inputs.measure = [&, looks = 0]() mutable {
      if (::isatty(STDERR_FILENO) == 1)
        std::fprintf(stderr, "counting interrupts for %s %s the change …\n", format_seconds(compare_seconds_).c_str(),
                     looks++ == 0 ? "before" : "after");
      return measure_windows(roots_, picture.plan, picture.snapshot, kernel, milliseconds(compare_seconds_));
    };
    TransactionOptions options;
    options.folder = folder_;
    options.patience = milliseconds(verify_seconds_);
    options.when_equal = keep_ ? WhenEqual::keep : WhenEqual::restore;
    return run_transaction(std::move(inputs), options, kernel);
  }

  static int status_of(const TransactionResult& result, const LiveIrqKernel& kernel) {
    switch (result.end) {
      case TransactionEnd::kept:
        return result.complete() ? exit_status::kDone : exit_status::kInPart;
      case TransactionEnd::not_permitted:
      case TransactionEnd::failed:
        return exit_status::kNotPermitted;
      case TransactionEnd::reverted:
        return exit_status::kReverted;
      case TransactionEnd::interrupted:
        return exit_status::kSignalBase + kernel.signal();
      case TransactionEnd::nothing_to_do:
      case TransactionEnd::restored_equal:
      case TransactionEnd::restored_worse:
        break;
    }
    return exit_status::kDone;
  }

  static Verdict verdict_of(const Report& report) {
    Verdict verdict;
    verdict.sign = VerdictSign::unknown;
    const auto fact = [&](const char* name) {
      const auto found = report.facts.find(name);
      return found == report.facts.end() ? std::string() : found->second;
    };
    const std::string outcome = fact("irq.outcome"), busiest = fact("irq.busiest");
    verdict.text = "Interrupts: " + (outcome.empty() ? fact("irq.plan") : outcome) + ".";
    for (const std::string& more :
         {fact("irq.costliest"), busiest, fact("softirq.costliest"), fact("irq.silent_traffic"), fact("softnet.drops")})
      if (!more.empty()) verdict.text += " " + more + ".";
    return verdict;
  }

  static Report report_of(Inputs inputs, const RuleSet& rules) {
    inputs.origin = Origin::files;  // no job was watched
    Report report = conclude({}, std::move(inputs), rules, {});
    report.command = "irq";
    // What only a job can tell was not asked.
    std::erase_if(report.coverage, [](const Coverage& entry) { return entry.source == "scheduler"; });
    std::erase_if(report.findings, [](const Finding& finding) {
      return finding.state == FindingState::could_not_judge && !finding.rule.starts_with("irq");
    });
    report.verdict = verdict_of(report);
    return report;
  }

  int undo() const {
    const Result<IrqSnapshot> now = read_irq_snapshot(roots_);
    if (!now) return print_error(now.error());
    const std::filesystem::path path =
        undo_file_.empty() ? journal_path(folder_, now->boot_id) : std::filesystem::path(undo_file_);
    Result<IrqJournal> journal = load_journal(path);
    if (!journal) {
      std::error_code ignored;
      if (undo_file_.empty() && !std::filesystem::exists(path, ignored))
        return print_error({"nothing to undo", "", "no change of this boot is in place", "", 3});
      return print_error(journal.error());
    }
    if (const auto refused = why_not_restorable(*journal, *now)) return print_error(*refused);
    const Result<FileDescriptor> lock = lock_journals(path.has_parent_path() ? path.parent_path() : ".");
    if (!lock) return print_error(lock.error());
    LiveIrqKernel kernel(roots_);
    RestoreOptions options;
    // What a transaction that died in the middle wrote is not known to the last line.
    options.take_over = force_ || journal->state == JournalState::begun;
    const std::vector<IrqOutcome> outcomes = restore_interrupts(journal->irqs, kernel, options);
    const auto failed = std::count_if(outcomes.begin(), outcomes.end(),
                                      [](const IrqOutcome& outcome) { return outcome.state == IrqState::failed; });
    if (failed == 0)
      if (const Result<void> consumed = consume_journal(path); !consumed) return print_error(consumed.error());
    Inputs inputs;
    inputs.facts["job"] = "none";
    inputs.facts["irq.outcome"] = failed == 0 ? "put back; the journal is gone" : "not all could be put back";
    add_changes(outcomes, inputs);
    Report report;
    report.command = "irq";
    report.facts = inputs.facts;
    report.series = inputs.series;
    OutputOptions output = output_;
    output.quiet = !owns_stdout(output);  // what became of each line is all there is
    if (const Result<void> shown = show_report(report, output); !shown) return print_error(shown.error());
    if (failed == 0) return exit_status::kDone;
    return failed == static_cast<std::ptrdiff_t>(outcomes.size()) ? exit_status::kNotPermitted : exit_status::kInPart;
  }

  IrqPlanOptions plan_;
  std::vector<int> training_;
  std::string duration_text_, cpus_text_, verify_text_ = "5", undo_file_, folder_ = kJournalFolder, tier_ = "best";
  RootOptions root_options_;
  double picture_seconds_ = 0, compare_seconds_ = 0, verify_seconds_ = 0;
  bool fix_ = false, dry_run_ = false, keep_ = false, force_ = false;
  IrqRoots roots_;
  RuleChoice rules_;
  OutputOptions output_;
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_irq_command() { return std::make_unique<IrqCommand>(); }

}  // namespace gradsync
