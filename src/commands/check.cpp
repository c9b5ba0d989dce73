// check: what can be measured here, what cannot, why, and the command that would enable it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "collectors/attach/attach.h"
#include "src/commands/collectors.h"
#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "src/commands/install_paths.h"
#include "src/commands/irq_report.h"
#include "src/commands/output.h"

namespace gradsync {
namespace {

class CheckCommand final : public Command {
 public:
  std::string name() const override { return "check"; }
  std::string summary() const override { return "what can be measured here, what cannot, and what would enable it"; }

  void declare(CLI::App& app) override {
    app.add_option("--python", python_, "the interpreter that the job will use")->type_name("PROGRAM");
    app.add_option("--json", json_, "write the result as a report document to FILE; - is standard output")
        ->type_name("FILE");
  }

  int run() override {
    const InstallPaths paths = find_install_paths();
    CollectorContext context;
    context.library = paths.library;
    context.torch_shim = paths.torch_shim;
    context.recording = "/nonexistent";
    context.command_line = {python_};
    Report report;
    report.command = "check";
    for (const auto& collector : all_collectors())
      for (Coverage& coverage : collector->probe(context)) report.coverage.push_back(std::move(coverage));
    report.coverage.push_back(interpreter());
    for (Coverage& coverage : irq_coverage({}, kJournalFolder)) report.coverage.push_back(std::move(coverage));
    for (Coverage& coverage : make_cupti_attach()->probe(context)) report.coverage.push_back(std::move(coverage));
    if (!json_.empty()) {
      OutputOptions output;
      output.json = json_;
      if (const Result<void> shown = show_report(report, output); !shown) return print_error(shown.error());
      if (json_ == "-") return exit_status::kDone;
    }
    for (const Coverage& coverage : report.coverage) print(coverage);
    return exit_status::kDone;
  }

 private:
  // Can the interpreter start, and does it have torch? Found without importing it.
  Coverage interpreter() const {
    Coverage coverage{"PyTorch of " + python_, "", CoverageState::collected, "", "", 0};
    const char* path = std::getenv("PATH");
    const std::string outcome =
        run_quietly({python_, "-c", "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 9)"},
                    {{"PATH", path == nullptr ? "/usr/bin:/bin" : path}});
    if (outcome.empty()) return coverage;
    coverage.state = CoverageState::unavailable;
    coverage.reason = outcome.ends_with(" 9") ? "it has no torch: its jobs are seen only through NVTX" : outcome;
    coverage.hint = "name the job's interpreter with --python";
    return coverage;
  }

  static void print(const Coverage& coverage) {
    fmt::print("{:<12} {}", to_string(coverage.state), coverage.source);
    if (!coverage.reason.empty()) fmt::print(": {}", coverage.reason);
    fmt::print("\n");
    if (!coverage.hint.empty()) fmt::print("{:<12}   try: {}\n", "", coverage.hint);
  }

  std::string python_ = "python3", json_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace gradsync
