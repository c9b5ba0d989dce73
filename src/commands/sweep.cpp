// sweep: the curve of this fabric, measured between ranks, or read from logs of nccl-tests.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "analyzers/find_cliffs.h"
#include "collectors/fabric/links.h"
#include "src/base/file.h"
#include "src/base/host_name.h"
#include "src/commands/background_load.h"
#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "src/commands/install_paths.h"
#include "src/commands/open_loads.h"
#include "src/commands/output.h"
#include "src/commands/profile_choice.h"
#include "src/commands/profiles.h"
#include "src/commands/rule_options.h"
#include "src/commands/stop_signals.h"
#include "src/commands/sweep_logs.h"
#include "src/commands/sweep_report.h"
#include "src/commands/sweep_task.h"
#include "src/commands/tuning_pass.h"
#include "src/diagnosis/rule_set.h"
#include "src/report/csv.h"
#include "src/report/json.h"

namespace gradsync {
namespace {

std::vector<std::string> own_arguments() {
  std::vector<std::string> arguments;
  const Result<std::string> line = read_file("/proc/self/cmdline");
  for (std::size_t at = 0; line && at < line->size(); at = line->find('\0', at) + 1)
    arguments.emplace_back(line->c_str() + at);
  const auto verb = std::find(arguments.begin(), arguments.end(), "sweep");
  if (verb != arguments.end()) arguments.erase(arguments.begin(), verb + 1);
  return arguments;
}

std::chrono::milliseconds steady_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

void show_progress(const SweepProgress& progress) {
  if (::isatty(STDERR_FILENO) != 1) return;
  const std::string rounds = progress.rounds > 0 ? " of " + std::to_string(progress.rounds) : ", to decide";
  std::fprintf(stderr, "\r\033[Ksweep: round %d%s, %lld s ", progress.round, rounds.c_str(),
               static_cast<long long>(progress.passed.count() / 1000));
}

void end_progress() {
  if (::isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
}

std::vector<FabricCall> calls_to_repeat(const SeriesSet& samples, ElementType type, int ranks) {
  std::vector<FabricCall> calls;
  for (const auto& [word, sizes] : undecided_sizes(samples))
    if (const auto operation = fabric_operation(word))
      for (const std::int64_t bytes : sizes)
        calls.push_back({*operation, type, elements_of(*operation, type, bytes, ranks)});
  return calls;
}

class SweepCommand final : public Command {
 public:
  std::string name() const override { return "sweep"; }
  std::string summary() const override {
    return "measure this fabric's collectives over message sizes: start-up, bandwidth, cliffs";
  }

  void declare(CLI::App& app) override {
    auto* from =
        app.add_option("--from", logs_, "judge logs or JSON of nccl-tests, or a saved sweep, instead of measuring")
            ->type_name("LOG")
            ->excludes(declare_measurement(app));
    app.add_option("--overlay", overlay_, "lay the messages of a job's report (JSON) on the curve")
        ->type_name("REPORT");
    app.add_option("--loads", named_loads_, "what bench measured of compressors (JSON): from where on they pay here")
        ->type_name("FILE");
    app.add_option("--csv", csv_, "write the table as CSV to FILE")->type_name("FILE");
    app.add_flag("--no-save", no_save_, "do not keep the result as a profile for run")->excludes(from);
    declare_rules(app, rules_);
    declare_output(app, output_);
  }

  int run() override {
    if (const Result<void> may = check_output(output_); !may) return print_error(may.error());
    const Result<RuleSet> rules = chosen_rules(rules_);
    if (!rules) return print_error(rules.error());
    if (!overlay_.empty())
      if (const Result<void> read = read_overlay(); !read) return print_error(read.error());
    const Result<ProfileChoice> named = named_profiles({"", named_loads_});
    if (!named) return print_error(named.error());
    if (named->loads) loads_ = named->loads->loads;
    return logs_.empty() ? measure(*rules) : read_logs(*rules);
  }

 private:
  CLI::Option* declare_measurement(CLI::App& app) {
    app.add_option("--backend", words_.backend, "auto (NCCL where GPUs are visible, else Gloo), nccl or gloo")
        ->check(CLI::IsMember({"auto", "nccl", "gloo"}))
        ->type_name("NAME");
    op_ = app.add_option("--op", words_.operations,
                         "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, or all; several")
              ->delimiter(',')
              ->type_name("OPERATION");
    app.add_option("--type", words_.type,
                   "elements: float, half or int8; without it float, and some sizes of all_reduce as half")
        ->type_name("TYPE");
    app.add_option("--min", words_.smallest, "smallest message; sizes double from there")->type_name("BYTES");
    app.add_option("--max", words_.largest, "largest message")->type_name("BYTES");
    app.add_option("--sizes", words_.sizes, "more sizes beside those")->delimiter(',')->type_name("BYTES");
    auto* ranks = app.add_option("--ranks", words_.ranks,
                                 "start this many ranks here; without it a launcher (torchrun, mpirun, srun) has")
                      ->type_name("N");
    app.add_option("--repeat", words_.repeats, "timed calls of each size, before more are made where it is not clear")
        ->type_name("N");
    app.add_option("--interface", words_.interface_name, "the network interface to measure")->type_name("NAME");
    app.add_option("--timeout", words_.timeout, "how long to wait for a rank, e.g. 60s")->type_name("DURATION");
    app.add_option("--max-time", words_.max_time, "end the measurement after this long, e.g. 40s")
        ->type_name("DURATION");
    app.add_option("--seed", words_.seed, "of the random order of sizes")->type_name("N");
    app.add_flag("--once", once_, "one call of each size, of which nothing is said")->group("");  // for TuningPass
    app.add_flag("--with-load", with_load_, "sweep also beside a compressor and matrix products, as in a job");
    return ranks;
  }

  Result<void> read_overlay() {
    const Result<std::string> bytes = read_file(overlay_);
    if (!bytes) return bytes.error();
    Result<Report> job = report_from_json(*bytes, overlay_);
    if (!job) return job.error();
    const Result<std::vector<std::int64_t>> sizes = message_sizes(*job, overlay_);
    if (!sizes) return sizes.error();
    job_sizes_ = *sizes;
    job_ranks_ = job->run.ranks;
    messages_ = std::move(job->series["messages"]);
    return {};
  }

  int measure(const RuleSet& rules) {
    for (const std::int64_t bytes : job_sizes_) words_.sizes.push_back(std::to_string(bytes));
    if (once_) words_.repeats = 1;
    // What each host of a launcher's ranks has kept may differ: there only loads that all were given add an operation.
    const bool alike = !loads_.empty() || words_.ranks > 0;
    if (loads_.empty()) loads_ = saved_loads({host_name()});
    if (alike && !loads_.empty() && op_->count() == 0)
      words_.operations.emplace_back("all_gather");  // how Top-K travels
    Result<SweepTask> task = sweep_task(words_);
    if (!task) return print_error(task.error());
    std::unique_ptr<BackgroundLoad> load;
    if (with_load_) {
      const Result<const LoadLibrary*> library = open_loads("cpu");
      if (!library) return print_error(library.error());
      load = make_background_load(**library, load_threads());
      task->load = load->name();
    }
    const StopSignals stop;
    SweepStart start = start_of(*task, stop);
    start.load = load.get();
    TuningPass tuning(*task, stop.asked());
    if (!once_) start.before_nccl = [&](const FabricPlace& place, RankStore& store) { tuning.run(place, store); };
    Result<std::unique_ptr<SweepSession>> session = start_sweep(start);
    if (!session) return print_error(session.error());
    if ((*session)->place().rank != 0) {
      const Result<void> followed = (*session)->follow();
      return followed ? exit_status::kDone : followed.error().exit_status;
    }
    const int ranks = (*session)->place().ranks;
    const auto undecided = [&, once = once_](const SeriesSet& samples) {
      return once ? std::vector<FabricCall>() : calls_to_repeat(samples, task->type, ranks);
    };
    const std::int64_t began = std::time(nullptr);
    Result<SweptFabric> swept = measure_fabric(**session, *task, {undecided, steady_now, show_progress});
    end_progress();
    if (!swept) return print_error(swept.error());
    if (!tuning.choices().columns.empty()) swept->series["nccl_choices"] = tuning.choices();
    for (const Coverage& one : tuning.coverage()) swept->coverage.push_back(one);
    return tell(std::move(*swept),
                {(*session)->place(), (*session)->facts(), own_arguments(), host_name(), began, read_links("/"),
                 messages_, job_ranks_, loads_},
                rules, stop);
  }

  // The ranks of this machine share its CPUs, as a job's do; of a launcher's ranks it is not known how many are here.
  int load_threads() const {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(words_.ranks, 1));
  }

  SweepStart start_of(const SweepTask& task, const StopSignals& stop) const {
    SweepStart start;
    start.backend = words_.backend;
    start.plugins = find_install_paths().plugins.string();
    start.ranks = words_.ranks;
    start.interface_name = words_.interface_name;
    for (const FabricOperation operation : task.operations) start.options += std::string(to_string(operation)) + " ";
    start.options += to_string(task.type);
    if (!task.load.empty()) start.options += " beside " + task.load;
    for (const std::int64_t bytes : task.sizes) start.options += " " + std::to_string(bytes);
    start.timeout_ms = task.timeout_ms;
    start.limit_ms = task.max_ms;
    start.stop = &stop.asked();
    return start;
  }

  int tell(SweptFabric swept, const SweepSetting& setting, const RuleSet& rules, const StopSignals& stop) const {
    const bool whole = !swept.interrupted && !swept.broken;
    const std::optional<Error> broken = swept.broken;
    const Report report = sweep_report(std::move(swept), setting, rules);
    const int shown = show(report);
    if (broken) return print_error(*broken);
    if (whole && !no_save_) keep_profile(report);
    return whole ? shown : exit_status::kSignalBase + (stop.number() != 0 ? stop.number() : SIGINT);
  }

  int read_logs(const RuleSet& rules) const {
    const Result<Report> report = report_of_logs({logs_, own_arguments(), messages_, job_ranks_, loads_}, rules);
    return report ? show(*report) : print_error(report.error());
  }

  int show(const Report& report) const {
    if (const Result<void> shown = show_report(report, output_); !shown) return print_error(shown.error());
    if (!csv_.empty())
      if (const Result<void> written = write_file(csv_, sweep_to_csv(report.series)); !written)
        return print_error(written.error());
    return gate(report, output_);
  }

  SweepWords words_;
  std::vector<std::string> logs_;
  std::string overlay_, csv_, named_loads_;
  CLI::Option* op_ = nullptr;
  bool no_save_ = false, with_load_ = false, once_ = false;
  std::vector<std::int64_t> job_sizes_;
  Series messages_;
  int job_ranks_ = 0;  // 0: not known
  std::vector<LoadProfile> loads_;
  RuleChoice rules_;
  OutputOptions output_;
};

}  // namespace

std::unique_ptr<Command> make_sweep_command() { return std::make_unique<SweepCommand>(); }

}  // namespace gradsync
