// The files of show besides its report on the terminal: for a pull request, for CI, for a spreadsheet, for a trace
// viewer, for somebody who helps.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/commands/output.h"
#include "src/diagnosis/rule.h"
#include "src/export/output_file.h"
#include "src/export/output_folder.h"
#include "src/model/report.h"

namespace CLI {
class App;
}

namespace gradsync {

// Empty: not wanted. Of files but the pack, - is standard output.
struct ReportFileOptions {
  std::string markdown, junit;
  std::string csv;  // folder
  std::string perfetto;
  std::string pack;
};

void declare_report_files(CLI::App& app, ReportFileOptions& options);

// What the files are made of.
struct ReportSubject {
  const Report& report;
  std::filesystem::path recording;  // empty: there is none
  std::string given;                // PATH, as it was typed
};

// Opened before the report is made, so that a place that cannot be written costs no long wait.
class ReportFiles {
 public:
  // Errors: a place that cannot be written (125), two outputs that both want standard output (usage).
  static Result<ReportFiles> open(const ReportFileOptions& options, const OutputOptions& output);

  // Standard output carries one of the files: the report is not drawn there.
  bool own_stdout() const { return own_stdout_; }

  // `fail_on`: from which severity a finding is a failure for CI. Errors besides writing: trace or pack is wanted and the
  // subject has no recording; the others are written first.
  Result<void> write(const ReportSubject& subject, const RuleSet& rules, Severity fail_on);

 private:
  bool own_stdout_ = false;
  std::optional<OutputFile> markdown_, junit_, perfetto_, pack_;
  std::optional<OutputFolder> csv_;
  std::string pack_name_;
};

}  // namespace gradsync
