#include "src/commands/report_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/recording_parts.h"
#include "src/commands/report_source.h"
#include "src/export/perfetto.h"
#include "src/timeline/join_ranks.h"

namespace gradsync {
namespace {

Error without_recording(const std::string& option, const ReportSubject& subject) {
  return {"cannot write " + option + " of", subject.given,
          why_no_recording(subject.report) + ", and the report alone does not hold what happened",
          "show RECORDING " + option + " FILE", exit_status::kNothingUsable};
}

// The recording is read once more: by then the timelines of the report are gone.
Result<void> write_perfetto(OutputFile& file, const ReportSubject& subject, const RuleSet& rules) {
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Result<JobTimelines> job = read_timelines(subject.recording, read_recording_parts(subject.recording), rules, threads);
  if (!job) return job.error();
  const JoinedRanks joined = join_ranks(job->ranks);
  const TraceTally tally =
      write_trace({job->ranks, joined.clocks, job->inputs.series}, [&](std::string_view text) { file.write(text); });
  if (Result<void> written = file.finish(); !written) return written;
  fmt::print(stderr, "gradsync-doctor: trace of {} ranks, {} events, {} collectives joined by arrows{}\n",
             job->ranks.size(), tally.events, tally.arrows,
             joined.clocks.state == ClockState::apart ? "; each rank begins at 0: " + joined.clocks.why : "");
  return {};
}

}  // namespace

void declare_report_files(CLI::App& app, ReportFileOptions& options) {
  app.add_option("--perfetto", options.perfetto,
                 "write what happened as a trace for ui.perfetto.dev; compressed when FILE ends in .gz")
      ->type_name("FILE");
}

Result<ReportFiles> ReportFiles::open(const ReportFileOptions& options, const std::string& json) {
  ReportFiles files;
  int on_stdout = json == "-" ? 1 : 0;
  for (const std::string* name : {&options.perfetto})
    if (*name == "-") {
      ++on_stdout;
      files.own_stdout_ = true;
    }
  if (on_stdout > 1)
    return Error{"only one output can be standard output", "", "", "name a FILE for the others", exit_status::kUsage};
  if (!options.perfetto.empty()) {
    Result<OutputFile> file = OutputFile::open(options.perfetto);
    if (!file) return file.error();
    files.perfetto_.emplace(std::move(*file));
  }
  return files;
}

Result<void> ReportFiles::write(const ReportSubject& subject, const RuleSet& rules) {
  if (perfetto_ && subject.recording.empty()) return without_recording("--perfetto", subject);
  if (perfetto_)
    if (Result<void> written = write_perfetto(*perfetto_, subject, rules); !written) return written;
  return {};
}

}  // namespace gradsync
