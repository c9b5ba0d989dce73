#include "src/commands/report_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "src/base/units.h"
#include "src/commands/examine.h"
#include "src/commands/exit_status.h"
#include "src/commands/recording_parts.h"
#include "src/commands/report_source.h"
#include "src/export/pack.h"
#include "src/export/perfetto.h"
#include "src/report/csv.h"
#include "src/report/json.h"
#include "src/report/junit.h"
#include "src/report/markdown.h"
#include "src/timeline/join_ranks.h"

namespace gradsync {
namespace {

Error without_recording(const std::string& option, const ReportSubject& subject) {
  return {"cannot write " + option + " of", subject.given,
          why_no_recording(subject.report) +
              ", and the report alone does not hold what happened; its other files can be written",
          "gradsync-doctor show RECORDING " + option + " FILE", exit_status::kNothingUsable};
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

Result<void> write_whole(OutputFile& file, const std::string& text) {
  file.write(text);
  return file.finish();
}

Result<void> write_evidence(OutputFile& file, const std::string& name, const ReportSubject& subject) {
  const auto to_markdown = [](const std::string& json) {
    const Result<Report> masked = report_from_json(json, "report.json");
    return masked ? report_to_markdown(*masked) : masked.error().message() + "\n";
  };
  const Result<PackTally> tally = write_pack(subject.recording, report_to_json(subject.report), to_markdown, file);
  if (!tally) return tally.error();
  fmt::print(
      stderr,
      "gradsync-doctor: {}: the recording ({} files, {}), report.json, report.md, README and MANIFEST in {}\n"
      "  {} names of users and secrets are masked; host names, command lines and file names are in it: its README\n",
      name, tally->files, format_bytes(static_cast<double>(tally->recording_bytes)),
      format_bytes(static_cast<double>(file.bytes())), tally->masked);
  if (tally->left_out > 0)
    fmt::print(stderr, "  {} things in the recording's folder are no part of it and were left out\n", tally->left_out);
  return {};
}

// The first that is wanted and cannot be written, if any.
template <class Place>
Result<void> open_place(const std::string& name, std::optional<Place>& place) {
  if (name.empty()) return {};
  Result<Place> opened = Place::open(name);
  if (!opened) return opened.error();
  place.emplace(std::move(*opened));
  return {};
}

}  // namespace

void declare_report_files(CLI::App& app, ReportFileOptions& options) {
  app.add_option("--markdown", options.markdown, "write the report as Markdown, for a pull request or an issue")
      ->type_name("FILE");
  app.add_option("--junit", options.junit,
                 "write what each rule found as JUnit XML; findings from --fail-on (default: warning) are failures")
      ->type_name("FILE");
  app.add_option("--csv", options.csv, "write metrics, findings, attribution and each series as CSV into a new FOLDER")
      ->type_name("FOLDER");
  app.add_option("--perfetto", options.perfetto,
                 "write what happened as a trace for ui.perfetto.dev; compressed when FILE ends in .gz")
      ->type_name("FILE");
  app.add_option(
         "--pack", options.pack,
         "write recording and report into one .tar.gz for somebody who helps, without names of users and secrets")
      ->type_name("FILE");
}

Result<ReportFiles> ReportFiles::open(const ReportFileOptions& options, const OutputOptions& output) {
  ReportFiles files;
  int on_stdout = owns_stdout(output) ? 1 : 0;
  for (const std::string* name : {&options.markdown, &options.junit, &options.perfetto})
    if (*name == "-") {
      ++on_stdout;
      files.own_stdout_ = true;
    }
  if (on_stdout > 1)
    return Error{"only one output can be standard output", "", "", "name a FILE for the others", exit_status::kUsage};
  if (!options.pack.empty() && !options.pack.ends_with(".tar.gz"))
    return Error{"--pack", options.pack, "its name does not end in .tar.gz", "--pack job.tar.gz", exit_status::kUsage};
  files.pack_name_ = options.pack;
  for (const Result<void>& opened :
       {open_place(options.markdown, files.markdown_), open_place(options.junit, files.junit_),
        open_place(options.csv, files.csv_), open_place(options.perfetto, files.perfetto_),
        open_place(options.pack, files.pack_)})
    if (!opened) return opened.error();
  return files;
}

Result<void> ReportFiles::write(const ReportSubject& subject, const RuleSet& rules, Severity fail_on) {
  if (markdown_)
    if (Result<void> written = write_whole(*markdown_, report_to_markdown(subject.report)); !written) return written;
  if (junit_)
    if (Result<void> written = write_whole(*junit_, report_to_junit(subject.report, fail_on)); !written) return written;
  if (csv_)
    if (Result<void> written = csv_->finish(report_to_csv(subject.report)); !written) return written;
  if ((perfetto_ || pack_) && subject.recording.empty())
    return without_recording(perfetto_ ? "--perfetto" : "--pack", subject);
  if (perfetto_)
    if (Result<void> written = write_perfetto(*perfetto_, subject, rules); !written) return written;
  return pack_ ? write_evidence(*pack_, pack_name_, subject) : Result<void>();
}

}  // namespace gradsync
