#include "src/commands/sweep_logs.h"

#include <algorithm>

#include "src/base/file.h"
#include "src/base/text.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/foreign_files.h"
#include "src/commands/named_files.h"
#include "src/report/json.h"

namespace gradsync {
namespace {

Error no_sweep_in(const std::string& path) {
  return {"no size sweep in", path, "", "gradsync-doctor analyze " + path, exit_status::kNothingUsable};
}

// A report with timed calls; nothing for every other file. Only a document of ours begins so.
std::optional<Report> saved_sweep(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{256} << 20;
  const Result<std::string> bytes = read_file(path, kMost);
  if (!bytes || !trim(std::string_view(*bytes).substr(0, 64)).starts_with('{')) return std::nullopt;
  Result<Report> report = report_from_json(*bytes, path);
  if (!report) return std::nullopt;
  const bool timed = std::any_of(report->series.begin(), report->series.end(),
                                 [](const auto& series) { return series.first.starts_with("sweep_samples."); });
  return timed ? std::optional<Report>(std::move(*report)) : std::nullopt;
}

// What was measured; what was concluded from it is concluded again.
Inputs inputs_of(const Report& saved) {
  Inputs inputs;
  for (const auto& [name, series] : saved.series)
    if (name.starts_with("sweep_samples.") || name == "links" || name == "messages" || name == "nccl_choices")
      inputs.series[name] = series;
  for (const auto& [name, value] : saved.facts)
    if (!name.starts_with("sweep.cliff") && name != "sweep.prove") inputs.facts[name] = value;
  inputs.coverage = saved.coverage;
  inputs.run.seconds = saved.run.seconds;
  return inputs;
}

Report conclude_sweep(Inputs inputs, const SweepLogs& logs, const RuleSet& rules) {
  inputs.origin = Origin::files;
  inputs.run.command_line = logs.command_line;
  inputs.loads = logs.loads;
  if (logs.job_ranks > 0) inputs.facts["overlay.ranks"] = std::to_string(logs.job_ranks);
  inputs.facts["job"] = "none";
  inputs.facts["asked"] = "fabric";
  if (!logs.messages.columns.empty()) inputs.series["messages"] = logs.messages;
  Report report = conclude({}, std::move(inputs), rules, {});
  report.command = "sweep";
  return report;
}

Result<Report> report_of_saved(const Report& saved, const SweepLogs& logs, const RuleSet& rules) {
  Report report = conclude_sweep(inputs_of(saved), logs, rules);
  report.run.hosts = saved.run.hosts;
  report.run.ranks = saved.run.ranks;
  report.run.backend = saved.run.backend;
  report.run.versions = saved.run.versions;
  return report;
}

}  // namespace

Result<Report> report_of_logs(const SweepLogs& logs, const RuleSet& rules) {
  for (const std::string& path : logs.paths) {
    const std::optional<Report> saved = saved_sweep(path);
    if (saved && logs.paths.size() > 1)
      return Error{"--from", path, "a saved sweep is judged alone", "--from " + path, exit_status::kUsage};
    if (saved) return report_of_saved(*saved, logs, rules);
  }
  Result<NamedFiles> named = name_files(logs.paths);
  if (!named) return named.error();
  if (!named->recordings.empty())
    return Error{"--from", named->recordings.front().string(), "a recording of a job, not a sweep",
                 "gradsync-doctor analyze", exit_status::kUsage};
  Result<ForeignJob> read = read_foreign_files(named->files, {}, 1);
  if (!read) return read.error();
  const auto& series = read->inputs.series;
  if (std::none_of(series.begin(), series.end(), [](const auto& one) { return one.first.starts_with("sweep."); }))
    return no_sweep_in(named->files.front().string());
  std::move(named->left_out.begin(), named->left_out.end(), std::back_inserter(read->inputs.coverage));
  return conclude_sweep(std::move(read->inputs), logs, rules);
}

}  // namespace gradsync
