// The files of show besides its report on the terminal: for a pull request, for CI, for a spreadsheet, for a trace
// viewer, for somebody who helps.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/diagnosis/rule.h"
#include "src/export/output_file.h"
#include "src/model/report.h"

namespace CLI {
class App;
}

namespace gradsync {

struct ReportFileOptions {
  std::string perfetto;  // file, or - for stdout; empty = none
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
  static Result<ReportFiles> open(const ReportFileOptions& options, const std::string& json);

  // Standard output carries one of the files: the report is not drawn there.
  bool own_stdout() const { return own_stdout_; }

  // Errors besides writing: the subject has no recording and the trace needs one. What can be written is written first.
  Result<void> write(const ReportSubject& subject, const RuleSet& rules);

 private:
  bool own_stdout_ = false;
  std::optional<OutputFile> perfetto_;
};

}  // namespace gradsync
