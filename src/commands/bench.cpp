// bench: the reference compressors on this machine. Time, share of what memory allows, bytes on the wire, correctness.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <ctime>
#include <optional>
#include <thread>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/base/units.h"
#include "src/commands/bench_report.h"
#include "src/commands/command.h"
#include "src/commands/count_loads.h"
#include "src/commands/exit_status.h"
#include "src/commands/open_loads.h"
#include "src/commands/output.h"
#include "src/commands/profiles.h"
#include "src/diagnosis/rule_set.h"
#include "src/report/json.h"

namespace gradsync {
namespace {

constexpr std::int64_t kMostElements = 4'000'000'000;  // indices have 32 bits

Error wrong(const std::string& option, const std::string& value, const std::string& why, const std::string& hint) {
  return {"cannot use", option + " " + value, why, hint, exit_status::kUsage};
}

// Line of progress on a terminal; nothing elsewhere.
class Progress {
 public:
  void tell(const std::string& text) const {
    if (shown_) fmt::print(stderr, "\r\033[K{} …", text);
  }
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool shown_ = ::isatty(STDERR_FILENO) == 1;
};

class BenchCommand final : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override {
    return "the reference compressors on this machine: time, share of the memory's speed, wire bytes, correctness";
  }

  void declare(CLI::App& app) override {
    auto* n = app.add_option("--n", n_, "elements of the gradient (default 25.6M)")->type_name("COUNT");
    app.add_option("--like", like_, "the sizes of the gradient buckets in a job's report (JSON)")
        ->type_name("REPORT")
        ->excludes(n);
    app.add_option("--algo", algorithms_, "only these, separated by commas; without it all of them")
        ->delimiter(',')
        ->type_name("NAMES");
    app.add_option("--device", device_, "cpu or cuda")->check(CLI::IsMember({"cpu", "cuda"}))->type_name("DEVICE");
    app.add_option("--threads", threads_, "threads for each load, or all (default 1)")->type_name("N");
    app.add_option("--repeat", repeats_, "timed calls of each load (default 11)")
        ->check(CLI::Range(1, 10'000))
        ->type_name("R");
    app.add_option("--ratio", ratio_, "share that selections send (default 1 %)")->type_name("PERCENT");
    app.add_option("--ranks", ranks_, "payloads that are decompressed together (default 4)")
        ->check(CLI::Range(2, 1024))
        ->type_name("N");
    app.add_flag("--feedback", feedback_, "with error feedback where a load can do without");
    app.add_option("--half", half_, "what cast16 makes: fp16 or bf16")
        ->check(CLI::IsMember({"fp16", "bf16"}))
        ->type_name("TYPE");
    app.add_option("--merge", merge_, "what param_server does with pushes: then-apply or apply-each")
        ->check(CLI::IsMember({"then-apply", "apply-each"}))
        ->type_name("HOW");
    app.add_option(
           "--counters", counters_,
           "events of the CPU counted around each call, separated by commas: cycles, LLC-load-misses, r412e, names of "
           "perf list or libpfm4; none: no counting")
        ->delimiter(',')
        ->type_name("NAMES");
    app.add_flag("--no-save", no_save_, "do not keep the result as a profile for sweep");
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    if (device_ == "cuda" && !counters_.empty() && !counts_nothing())
      return print_error(wrong("--counters", join(counters_, ","), "those are of the CPU, and the loads run on the GPU",
                               "--device cpu; the GPU's own of a job: run --deep cupti --counters"));
    Result<BenchPlan> plan = plan_of();
    if (!plan) return print_error(plan.error());
    std::optional<LoadCounters> counters;
    if (device_ == "cpu" && !counts_nothing()) {
      Result<LoadCounters> opened = LoadCounters::open(counters_.empty() ? usual_counters() : counters_);
      if (!opened) return print_error(wrong("--counters", opened.error().on, opened.error().why, opened.error().hint));
      counters.emplace(std::move(*opened));
      plan->around = [&counters](const LoadCall& call, const auto& run) { counters->around(call, run); };
    }
    const Result<BenchResult> result = [&] {
      const Progress progress;
      plan->tell = [&progress](const std::string& text) { progress.tell(text); };
      return measure_loads(*plan);
    }();
    if (!result) return print_error(result.error());
    const Result<RuleSet> rules = builtin_rules();
    if (!rules) return print_error(rules.error());
    Report report = bench_report(*plan, *result, *rules);
    if (counters) counters->add_to(report, *plan, *result);
    report.run.command_line = words();
    report.facts["sweep.at.loads"] = utc_text(std::time(nullptr));
    if (const Result<void> shown = show_report(report, output_); !shown) return print_error(shown.error());
    const int status = bench_status(*result);
    if (status == exit_status::kDone && !no_save_) keep_profile(report);
    return status;
  }

 private:
  Result<BenchPlan> plan_of() const {
    const Result<const LoadLibrary*> library = open_loads(device_);
    if (!library) return library.error();
    BenchPlan plan;
    plan.library = *library;
    plan.repeats = repeats_;
    plan.ranks = ranks_;
    plan.options.feedback = feedback_ ? Feedback::residual : Feedback::none;
    plan.options.half = half_ == "bf16" ? HalfFormat::bf16 : HalfFormat::fp16;
    plan.options.merge = merge_ == "apply-each" ? Merge::apply_each : Merge::then_apply;
    const Result<double> percent = parse_percent(ratio_);
    if (!percent) return wrong("--ratio", ratio_, percent.error().why, "--ratio 1%");
    if (!(*percent > 0 && *percent <= 100))
      return wrong("--ratio", ratio_, "not above 0 and at most 100 %", "--ratio 1%");
    plan.options.ratio = *percent / 100;
    if (const Result<int> threads = thread_count()) {
      plan.options.threads = *threads;
    } else {
      return threads.error();
    }
    if (Result<std::vector<LoadEntry>> loads = chosen_loads(plan.library->loads())) {
      plan.loads = std::move(*loads);
    } else {
      return loads.error();
    }
    Result<std::vector<BenchSize>> sizes = chosen_sizes();
    if (!sizes) return sizes.error();
    plan.sizes = std::move(*sizes);
    return plan;
  }

  Result<int> thread_count() const {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (threads_ == "all") return cores;
    int threads = 0;
    const auto [end, failed] = std::from_chars(threads_.data(), threads_.data() + threads_.size(), threads);
    if (failed != std::errc() || *end != '\0' || threads < 1 || threads > 1024)
      return wrong("--threads", threads_, "not a number from 1 to 1024, nor all", "--threads all");
    return threads;
  }

  Result<std::vector<LoadEntry>> chosen_loads(const std::vector<LoadEntry>& all) const {
    if (algorithms_.empty()) return all;
    std::vector<LoadEntry> loads;
    std::vector<std::string> known;
    for (const LoadEntry& entry : all) {
      known.push_back(entry.algorithm);
      if (std::find(algorithms_.begin(), algorithms_.end(), entry.algorithm) != algorithms_.end())
        loads.push_back(entry);
    }
    for (const std::string& algorithm : algorithms_)
      if (std::find(known.begin(), known.end(), algorithm) == known.end())
        return wrong("--algo", algorithm, "there is no such load", "one of " + join(known, ", "));
    return loads;
  }

  Result<std::vector<BenchSize>> chosen_sizes() const {
    if (!like_.empty()) {
      const Result<std::string> bytes = read_file(like_);
      if (!bytes) return bytes.error();
      const Result<Report> job = report_from_json(*bytes, like_);
      if (!job) return job.error();
      return bucket_sizes(*job, like_);
    }
    const Result<std::int64_t> elements = parse_count(n_);
    if (!elements) return wrong("--n", n_, elements.error().why, "--n 25.6M");
    if (*elements < 1 || *elements > kMostElements)
      return wrong("--n", n_, "not between 1 and 4 thousand million", "--n 25.6M");
    return std::vector<BenchSize>{{*elements, 1}};
  }

  bool counts_nothing() const { return counters_ == std::vector<std::string>{"none"}; }

  // What the header of the report repeats.
  std::vector<std::string> words() const {
    std::vector<std::string> words =
        like_.empty() ? std::vector<std::string>{"--n", n_} : std::vector<std::string>{"--like", like_};
    if (!algorithms_.empty()) words.insert(words.end(), {"--algo", join(algorithms_, ",")});
    words.insert(words.end(), {"--ratio", ratio_, "--threads", threads_});
    if (feedback_) words.emplace_back("--feedback");
    if (half_ != "fp16") words.insert(words.end(), {"--half", half_});
    if (!counters_.empty()) words.insert(words.end(), {"--counters", join(counters_, ",")});
    if (merge_ != "then-apply") words.insert(words.end(), {"--merge", merge_});
    return words;
  }

  std::string n_ = "25.6M", like_, device_ = "cpu", threads_ = "1", ratio_ = "1%", half_ = "fp16",
              merge_ = "then-apply";
  std::vector<std::string> algorithms_, counters_;
  int repeats_ = 11, ranks_ = 4;
  bool feedback_ = false;
  bool no_save_ = false;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace gradsync
