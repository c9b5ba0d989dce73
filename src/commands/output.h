// What every command that ends in a report shares: --json, --html, -q, -v, --color, --fail-on, and showing the report.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/model/report.h"

namespace CLI {
class App;
}

namespace gradsync {

struct OutputOptions {
  std::string json;            // file, or - for stdout; empty = none
  std::string html;            // the same
  std::string color = "auto";  // auto, always, never
  std::string fail_on;         // info, warning, error; empty = never
  bool quiet = false;
  bool verbose = false;
};

void declare_output(CLI::App& app, OutputOptions& options);
void declare_json_and_html(CLI::App& app, OutputOptions& options);

// Before anything that takes time. Errors: a file that cannot be written there (125), two files in one place (usage).
Result<void> check_output(const OutputOptions& options);

// Prints the report (stdout) and writes its files. With `--json -` or `--html -` stdout carries that alone. What can be
// written is written; the first error is told.
Result<void> show_report(const Report& report, const OutputOptions& options);

// For a command with a screen of its own: the report's files alone, and whether one of them is standard output.
Result<void> write_report_files(const Report& report, const OutputOptions& options);
bool owns_stdout(const OutputOptions& options);

// The JSON alone, to a file; - is standard output.
Result<void> write_json_report(const Report& report, const std::string& file);

// The severity that --fail-on names; a warning where it was not given.
Severity severity_of(const std::string& fail_on);

// exit_status::kFinding when a fired finding is at or above --fail-on, else kDone.
int gate(const Report& report, const OutputOptions& options);

// "gradsync-doctor: <message>" and the hint, on stderr. Returns the error's exit status.
int print_error(const Error& error);

}  // namespace gradsync
