#include "src/commands/job_run.h"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "collectors/attach/attach.h"
#include "collectors/attach/gpu_counters.h"
#include "collectors/attach/nccl_attach.h"
#include "src/base/environment.h"
#include "src/base/file.h"
#include "src/base/units.h"
#include "src/commands/ab_options.h"
#include "src/commands/collectors.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/install_paths.h"
#include "src/commands/launch.h"
#include "src/commands/output.h"
#include "src/commands/record.h"
#include "src/commands/recording_parts.h"
#include "src/commands/root_options.h"
#include "src/commands/rule_options.h"
#include "src/commands/run_folder.h"
#include "src/commands/track_record.h"
#include "version.h"

namespace gradsync {
namespace {

// A:B with A < B, in digits alone.
bool is_step_range(std::string_view text) {
  unsigned first = 0, last = 0;
  const char* end = text.data() + text.size();
  const auto a = std::from_chars(text.data(), end, first);
  if (a.ec != std::errc{} || a.ptr == end || *a.ptr != ':') return false;
  const auto b = std::from_chars(a.ptr + 1, end, last);
  return b.ec == std::errc{} && b.ptr == end && first < last;
}

// CPU that this process used so far, its watching thread included; the job's is not in it.
std::int64_t own_cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) { return time.tv_sec * 1000 + time.tv_usec / 1000; };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

Error usage(Error error, const std::string& option) {
  error.what = option + ": " + error.what;
  error.exit_status = exit_status::kUsage;
  return error;
}

}  // namespace

void JobRun::declare(CLI::App& app, Experiments experiments) {
  app.add_option("CMD", command_, "the job, after --: python3 train.py, torchrun …, mpirun …, any program")->required();
  app.add_option("-o,--output", folder_, "write the recording to DIR (made here; default: the user's state folder)")
      ->type_name("DIR");
  steps_option_ = app.add_option("--steps", steps_, "record steps A:B, or all")->type_name("A:B|all");
  app.add_option("--deep", deep_, "the framework's profiler for 5 steps: auto, torch or off; cupti: the GPU itself")
      ->check(CLI::IsMember({"auto", "torch", "cupti", "off"}))
      ->type_name("WINDOW");
  counters_option_ =
      app.add_option("--counters", counters_,
                     "with --deep cupti: hardware counters of the kernels that compress, metrics of CUPTI separated "
                     "by commas (default: memory, occupancy, caches)")
          ->expected(0, 1)
          ->type_name("NAMES");
  app.add_option("--nccl", nccl_, "ask NCCL for more: a list of calls, kernels and proxy; or auto, or off")
      ->type_name("LIST");
  app.add_option("--budget", budget_, "drop optional collectors that cost more than this share of the step, in percent")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  if (experiments == Experiments::offered) declare_ab(app, ab_);
  app.add_option("--linger", linger_, "after CMD ended, wait this long for processes it left behind, e.g. 10s")
      ->type_name("DURATION");
  app.add_option("--threads", threads_, "threads that read the recording")->check(CLI::Range(1, 256))->type_name("N");
  declare_roots(app, roots_);
  declare_profiles(app, profile_options_);
  declare_rules(app, rules_);
  declare_output(app, output_);
}

Result<void> JobRun::prepare() {
  if (Result<void> may = check_output(output_); !may) return may;
  const Result<std::int64_t> linger = parse_duration_ns(linger_);
  if (!linger) return usage(linger.error(), "--linger");
  linger_seconds_ = static_cast<double>(*linger) * 1e-9;
  if (steps_ != "all" && !is_step_range(steps_))
    return Error{"--steps", steps_, "not A:B and not all", "--steps 10:60", exit_status::kUsage};
  if (std::isnan(budget_)) return Error{"--budget", "nan", "not a number", "--budget 0.5", exit_status::kUsage};
  if (const Result<void> may = may_count(); !may) return may.error();
  if (const Result<NcclWishes> wishes = nccl_wishes(nccl_); !wishes)
    return Error{wishes.error().what, wishes.error().on, wishes.error().why, wishes.error().hint, exit_status::kUsage};
  if (const Result<void> may = may_change_training(ab_, command_); !may) return may.error();
  Result<RuleSet> rules = chosen_rules(rules_);
  if (!rules) return rules.error();
  rule_set_ = std::move(*rules);
  Result<ProfileChoice> profiles = named_profiles(profile_options_);
  if (!profiles) return profiles.error();
  profiles_ = std::move(*profiles);
  return {};
}

int JobRun::run(const std::function<void(Report&)>& complete) {
  if (std::getenv("GSD_RECORDING") != nullptr) return pass_through();
  environment_ = own_environment();
  guarded("the recording's start", [this] {
    context_.recording = make_run_folder(folder_, parts_.coverage);
    start_collectors();
  });
  LaunchOptions options;
  options.command_line = command_;
  options.environment = environment_;
  options.linger_seconds = linger_seconds_;
  const Result<LaunchResult> launched = launch(options);
  guarded("the recording's end", [this] { finish_collectors(); });
  if (!launched) {
    remove_empty_recording(context_.recording);
    return print_error(launched.error());
  }
  try {
    return report(*launched, complete);
  } catch (const std::exception& error) {  // the job's own failure is not lost in ours
    const int failed = print_error({"cannot make the report", "", error.what(), "", exit_status::kDoctorFailed});
    return launched->exit_status != 0 ? launched->exit_status : failed;
  }
}

Result<void> JobRun::may_count() {
  if (counters_option_->count() == 0) return {};
  const auto wrong = [](const std::string& on, const std::string& why, const std::string& hint) {
    return Error{"cannot use --counters", on, why, hint, exit_status::kUsage};
  };
  if (deep_ != "cupti") return wrong("", "counters are read by CUPTI", "--deep cupti --counters");
  if (steps_option_->count() > 0)
    return wrong("--steps " + steps_, "counters and records of the GPU do not go together, so they take turns",
                 "leave --steps out: windows of steps are recorded, three steps after the first are counted");
  if (ab_.wanted) return wrong("--ab", "it leaves the hook out in some of the steps that are counted", "run twice");
  const Result<std::string> names = counter_names(counters_);
  if (!names) return wrong(names.error().on, names.error().why, names.error().hint);
  counter_names_ = *names;
  return {};
}

// What fails in here costs the report something, and never the job its run.
template <class Part>
void JobRun::guarded(const char* name, Part part) {
  try {
    part();
  } catch (const std::exception& error) {
    parts_.coverage.push_back({name, "", CoverageState::partial, error.what(), "", 0});
  }
}

// Inside another doctor's job: its collectors are loaded already, its report covers this part.
int JobRun::pass_through() {
  std::fprintf(stderr,
               "gradsync-doctor: this job already runs under a doctor (GSD_RECORDING is set); passing through\n");
  LaunchOptions options;
  options.command_line = command_;
  options.environment = own_environment();
  const Result<LaunchResult> launched = launch(options);
  return launched ? launched->exit_status : print_error(launched.error());
}

void JobRun::start_collectors() {
  if (context_.recording.empty()) return;
  const InstallPaths paths = find_install_paths();
  context_.library = paths.library;
  context_.torch_shim = paths.torch_shim;
  context_.command_line = command_;
  context_.options = {{"deep", deep_},
                      {"nccl", nccl_},
                      {"steps", steps_},
                      {"budget", budget_text()},
                      {"fabric", profile_options_.fabric.empty() ? "auto" : profile_options_.fabric}};
  // What the machine is; what the job does is always read of this one.
  if (const IrqRoots roots = roots_.roots(); !roots.live()) {
    context_.options["proc-root"] = absolute_or_same(roots.proc).string();
    context_.options["sys-root"] = absolute_or_same(roots.sys).string();
  }
  std::vector<std::unique_ptr<Collector>> collectors = all_collectors();
  if (deep_ == "cupti") {
    context_.options["cupti"] = steps_option_->count() > 0 ? steps_ : "windows";
    collectors.push_back(make_cupti_attach());
  }
  if (!counter_names_.empty()) {
    context_.options["counters"] = counter_names_;
    collectors.push_back(make_gpu_counters_attach());
  }
  context_.options.merge(collector_options(ab_));
  recorder_.emplace(context_, std::move(collectors));
  environment_ = recorder_->start(environment_);
}

std::string JobRun::budget_text() const {
  char text[32];
  std::snprintf(text, sizeof text, "%g", budget_);
  return text;
}

void JobRun::finish_collectors() {
  if (!recorder_) return;
  RecordingParts parts = recorder_->finish();
  parts_.series = std::move(parts.series);
  parts_.facts = std::move(parts.facts);
  parts_.coverage.insert(parts_.coverage.end(), parts.coverage.begin(), parts.coverage.end());
}

int JobRun::report(const LaunchResult& job, const std::function<void(Report&)>& complete) {
  parts_.command = "run";
  parts_.facts["doctor.cpu_ms"] = std::to_string(own_cpu_ms());
  parts_.tool.version = kVersion;
  parts_.tool.parts = {{"rules", rule_set_.version}};
  parts_.run.command_line = command_;
  parts_.run.seconds = job.seconds;
  parts_.run.exit_status = job.exit_status;
  parts_.run.cpus = static_cast<int>(std::thread::hardware_concurrency());
  if (!context_.recording.empty()) {
    parts_.run.recording = proximate_or_same(context_.recording).string();
    parts_.run.recording_id = context_.recording.filename().string();
  }
  for (const auto& [name, value] : context_.options) parts_.facts["option." + name] = value;
  if (job.left_behind > 0)
    parts_.coverage.push_back({"processes left behind", "", CoverageState::partial,
                               "processes of the job were still running when the report was made", "--linger 30s", 0});
  Report report = make_report();
  if (complete) complete(report);
  if (const Result<void> shown = show_report(report, output_); !shown) {
    const int failed = print_error(shown.error());
    return job.exit_status != 0 ? job.exit_status : failed;
  }
  if (ab_.wanted) keep_track_record(report);
  tell_of_other_hosts(context_.recording);
  return job.exit_status != 0 ? job.exit_status : gate(report, output_);
}

Report JobRun::make_report() {
  if (!context_.recording.empty()) {
    ExamineOptions options;
    options.threads = threads_;
    guarded("fabric profile",
            [this] { keep_profiles(context_.recording, profiles_, hosts_of(context_.recording), parts_.coverage); });
    const Result<void> written = write_recording_parts(context_.recording, parts_);
    if (!written)
      parts_.coverage.push_back(
          {"recording", "", CoverageState::partial, written.error().message(), "give -o a folder with more room", 0});
    Result<Report> examined = written ? examine(context_.recording, rule_set_, options)
                                      : examine(context_.recording, parts_, rule_set_, options);
    if (examined) return std::move(*examined);
    parts_.coverage.push_back({"recording", "", CoverageState::unavailable, examined.error().message(), "", 0});
  }
  Inputs inputs;
  inputs.run = parts_.run;
  inputs.facts = parts_.facts;
  inputs.coverage = parts_.coverage;
  Report report = conclude({}, std::move(inputs), rule_set_, {});
  report.command = "run";
  return report;
}

}  // namespace gradsync
