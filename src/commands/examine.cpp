#include "src/commands/examine.h"

#include <algorithm>
#include <set>

#include "collectors/attach/gpu_counters.h"
#include "src/base/in_parallel.h"
#include "src/commands/analyzers.h"
#include "src/commands/deep_windows.h"
#include "src/commands/device_link.h"
#include "src/commands/device_names.h"
#include "src/commands/recording_parts.h"
#include "src/diagnosis/diagnose.h"
#include "src/diagnosis/rule_set.h"
#include "src/diagnosis/verdict.h"
#include "src/spool_reader/recording.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"
#include "version.h"

namespace gradsync {
namespace {

// Each rank by whichever thread is free; results are kept by rank and merged in that order.
Summary summarise_all(const std::vector<RankTimeline>& ranks, const std::vector<std::unique_ptr<Analyzer>>& analyzers,
                      const Inputs& inputs, int threads) {
  std::vector<Summary> by_rank(ranks.size());
  in_parallel(ranks.size(), threads, [&](std::size_t i) {
    for (const auto& analyzer : analyzers) analyzer->summarise(ranks[i], inputs, by_rank[i]);
  });
  Summary all;
  for (Summary& one : by_rank) all.merge(std::move(one));
  all.canonicalise();
  return all;
}

void complete_run_info(const std::vector<RankTimeline>& ranks, Inputs& inputs) {
  RunInfo& run = inputs.run;
  std::set<std::string> hosts;
  Nanoseconds first = 0, last = 0;
  std::int64_t fewest = -1;
  for (const RankTimeline& rank : ranks) {
    if (!rank.process.host.empty()) hosts.insert(rank.process.host);
    if (!rank.events.empty() && (first == 0 || rank.first_time() < first)) first = rank.first_time();
    last = std::max(last, rank.last_time());
    const auto counted =
        std::count_if(rank.steps.begin(), rank.steps.end(), [](const StepSpan& s) { return s.counted(); });
    fewest = fewest < 0 ? counted : std::min<std::int64_t>(fewest, counted);
  }
  run.hosts.assign(hosts.begin(), hosts.end());
  run.ranks = static_cast<int>(ranks.size());
  run.steps = std::max<std::int64_t>(fewest, 0);
  if (run.seconds == 0 && last > first) run.seconds = static_cast<double>(last - first) * 1e-9;
}

// Looks of each machine's collectors carry its own clock.
void move_samples(const std::map<std::string, ClockLine>& lines, SeriesSet& series) {
  const auto samples = series.find("nic_samples");
  if (samples == series.end()) return;
  const auto column = [&](const char* name) {
    const auto& all = samples->second.columns;
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), name) - all.begin());
  };
  const std::size_t machine = column("machine"), at = column("at_ns");
  for (auto& row : samples->second.rows) {
    if (row.size() <= std::max(machine, at)) continue;
    const auto* name = std::get_if<std::string>(&row[machine]);
    auto* time = std::get_if<std::int64_t>(&row[at]);
    if (name == nullptr || time == nullptr) continue;
    if (const auto line = lines.find(*name); line != lines.end()) *time = line->second.map(*time);
  }
}

// What only all ranks together can tell, and how far the report can trust it.
void join(std::vector<RankTimeline>& ranks, Inputs& inputs) {
  const JoinedRanks joined = join_ranks(ranks);
  inputs.one_clock = joined.clocks.state != ClockState::apart;
  inputs.run.clocks = joined.clocks.text;
  move_samples(joined.clocks.lines, inputs.series);
  if (ranks.size() < 2) return;
  inputs.facts["clocks"] = joined.clocks.state == ClockState::shared    ? "shared"
                           : joined.clocks.state == ClockState::aligned ? "aligned"
                                                                        : "apart";
  if (!inputs.one_clock)
    inputs.coverage.push_back({"clocks of the ranks", "", CoverageState::unavailable, joined.clocks.why,
                               "longer traces; or gradsync-doctor run on every host, into one folder", 0});
  if (joined.cut + joined.differ == 0) return;
  std::string what = std::to_string(joined.collectives) + " are joined";
  if (joined.cut > 0)
    what += "; " + std::to_string(joined.cut) + " were seen by one rank alone, where its trace begins or ends";
  if (joined.differ > 0)
    what += "; " + std::to_string(joined.differ) + " differ from what the others did at that place";
  inputs.coverage.push_back({"collectives across ranks", "", CoverageState::partial, what, "", 0});
}

// `run --deep cupti`: whether each rank's device was watched, and if not, why.
void tell_device_coverage(const std::vector<RankTimeline>& ranks, Inputs& inputs) {
  if (!inputs.facts.contains("option.cupti")) return;
  for (const RankTimeline& rank : ranks) {
    const std::string state = rank.fact("cupti");
    if (state == "collected") continue;
    const std::string why =
        state.empty() ? "CUDA was not started, or another tool was loaded in the library's place" : state;
    inputs.coverage.push_back({"GPU activity", "rank:" + std::to_string(rank.rank), CoverageState::unavailable, why,
                               "gradsync-doctor check", 0});
  }
}

// `run --counters`: the same of its hardware counters; where the launcher knew why not, once.
void tell_counter_coverage(const std::vector<RankTimeline>& ranks, Inputs& inputs) {
  const bool said = std::any_of(inputs.coverage.begin(), inputs.coverage.end(), [](const Coverage& entry) {
    return entry.source == kCounterCollector && entry.state == CoverageState::unavailable;
  });
  if (!inputs.facts.contains("option.counters") || said) return;
  for (const RankTimeline& rank : ranks) {
    const std::string state = rank.fact("counters"), refused = rank.fact("counters.refused");
    const bool read = state == "collected";
    if (read && refused.empty()) continue;
    const std::string why = read            ? "left out, because one pass must do: " + refused
                            : state.empty() ? "CUDA was not started, or no step from 25 to 27 was reached"
                                            : state;
    const bool forbidden = why.find("reserved to the administrator") != std::string::npos;
    inputs.coverage.push_back({"GPU counters", "rank:" + std::to_string(rank.rank),
                               read ? CoverageState::partial : CoverageState::unavailable, why,
                               forbidden ? kCounterPermissionHint
                               : read    ? "name fewer metrics"
                                         : "gradsync-doctor check",
                               0});
  }
}

// What the job's own collectors do not see is missing, unless a file that was named tells it.
void note_uncollected(Origin origin, Report& report) {
  if (report.facts.contains("asked")) return;  // about the fabric: no job's collector is part of it
  struct Uncollected {
    const char *source, *series, *ours, *by_hand;
  };
  for (const auto& [source, series, ours, by_hand] :
       {Uncollected{"scheduler", "sched", "gradsync-doctor sched -p PID as root", "perf sched record -a -- sleep 10"},
        Uncollected{"interrupts", "irq", "gradsync-doctor irq -p PID", "watch -d cat /proc/interrupts"}}) {
    const bool told = std::any_of(report.coverage.begin(), report.coverage.end(),
                                  [name = source](const Coverage& entry) { return entry.source == name; });
    if (told || report.series.contains(series)) continue;
    report.coverage.push_back({source, "", CoverageState::unavailable,
                               origin == Origin::watched ? "not in this recording" : "not in these files",
                               std::string(ours) + " beside the job; by hand: " + by_hand, 0});
  }
  const auto watch = report.facts.find("option.cupti");
  const bool every_step = watch != report.facts.end() && watch->second != "windows";
  if (!every_step && origin == Origin::watched && report.facts.contains("device") && report.facts["device"] == "cuda")
    report.coverage.push_back({"GPU activity in plain steps", "", CoverageState::unavailable,
                               "kernels are recorded in the deep window only: its shares stand for all steps",
                               "analyze a trace of torch.profiler", 0});
}

}  // namespace

Report conclude(std::vector<RankTimeline> ranks, Inputs inputs, const RuleSet& rules, const ExamineOptions& options) {
  load_name_classes(rules, inputs);
  join(ranks, inputs);
  lay_profiles(options.profiles, ranks, inputs);
  complete_run_info(ranks, inputs);
  const std::vector<std::unique_ptr<Analyzer>> analyzers = all_analyzers();
  const Summary summary = summarise_all(ranks, analyzers, inputs, options.threads);
  Conclusions conclusions;
  for (const auto& analyzer : analyzers) analyzer->conclude(summary, inputs, conclusions);

  Report report;
  report.tool.version = kVersion;
  report.tool.parts = {{"rules", rules.version}};
  report.run = inputs.run;
  report.facts = inputs.facts;
  for (const auto& [key, value] : conclusions.facts) report.facts[key] = value;
  if (report.facts.contains("backend")) report.run.backend = report.facts["backend"];
  for (const char* part : {"torch", "python", "cuda"})
    if (report.facts.contains(part)) report.run.versions[part] = report.facts[part];
  report.coverage = inputs.coverage;
  report.coverage.insert(report.coverage.end(), conclusions.coverage.begin(), conclusions.coverage.end());
  report.metrics = conclusions.metrics.all();
  report.series = inputs.series;
  for (auto& [name, series] : conclusions.series) report.series[name] = std::move(series);
  note_uncollected(inputs.origin, report);
  report.attribution = conclusions.attribution;
  report.findings = diagnose(rules, conclusions.metrics, report.facts);
  report.verdict = verdict(rules, report.findings, conclusions.metrics, report.facts);
  return report;
}

Result<JobTimelines> read_timelines(const std::filesystem::path& recording, const Report& parts, const RuleSet& rules,
                                    int threads) {
  const Result<RecordingFolder> folder = open_recording_folder(recording);
  if (!folder) return folder.error();
  JobTimelines job;
  Inputs& inputs = job.inputs;
  inputs.run = parts.run;
  inputs.facts = parts.facts;
  inputs.coverage = parts.coverage;
  inputs.series = parts.series;
  load_name_classes(rules, inputs);

  TimelineBuilder builder(inputs.range_classes);
  DeviceNames names(builder);
  for (Coverage& entry : read_spools(*folder, names)) inputs.coverage.push_back(std::move(entry));
  read_deep_windows(*folder, builder, inputs.coverage);
  job.ranks = builder.build(threads);
  link_device_collectives(job.ranks);
  return job;
}

Result<Report> examine(const std::filesystem::path& recording, const Report& parts, const RuleSet& rules,
                       const ExamineOptions& options) {
  Result<JobTimelines> job = read_timelines(recording, parts, rules, options.threads);
  if (!job) return job.error();
  tell_device_coverage(job->ranks, job->inputs);
  tell_counter_coverage(job->ranks, job->inputs);
  if (!options.profiles.fabric) choose_profiles(recording, job->ranks, job->inputs);
  Report report = conclude(std::move(job->ranks), std::move(job->inputs), rules, options);
  report.command = parts.command.empty() ? "examine" : parts.command;
  if (report.run.recording.empty()) report.run.recording = recording.string();
  return report;
}

Result<Report> examine(const std::filesystem::path& recording, const RuleSet& rules, const ExamineOptions& options) {
  return examine(recording, read_recording_parts(recording), rules, options);
}

}  // namespace gradsync
