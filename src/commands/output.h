// What every command that ends in a report shares: --json, -q, -v, --color, --fail-on, and showing the report.
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
  std::string color = "auto";  // auto, always, never
  std::string fail_on;         // info, warning, error; empty = never
  bool quiet = false;
  bool verbose = false;
};

void declare_output(CLI::App& app, OutputOptions& options);

// Prints the report (stdout) and writes the JSON. With `--json -` stdout carries the JSON alone.
Result<void> show_report(const Report& report, const OutputOptions& options);

// The JSON alone, to a file; - is standard output.
Result<void> write_json_report(const Report& report, const std::string& file);

// The severity that --fail-on names; a warning where it was not given.
Severity severity_of(const std::string& fail_on);

// exit_status::kFinding when a fired finding is at or above --fail-on, else kDone.
int gate(const Report& report, const OutputOptions& options);

// "gradsync-doctor: <message>" and the hint, on stderr. Returns the error's exit status.
int print_error(const Error& error);

}  // namespace gradsync
