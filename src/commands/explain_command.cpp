#include "src/commands/explain_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/base/text.h"
#include "src/commands/exit_status.h"
#include "src/lint/command_lint.h"
#include "version.h"

namespace gradsync {
namespace {

Report report_of(const CommandLint& lint) {
  Report report;
  report.tool.version = kVersion;
  report.command = "explain";
  report.run.command_line = {lint.given};
  report.findings = findings_of(lint);
  report.facts["command.given"] = lint.given;
  if (!lint.right.empty()) report.facts["command.right"] = join(lint.right, "\n");
  return report;
}

// "2 errors, 1 warning"
std::string counted(const CommandLint& lint) {
  std::vector<std::string> parts;
  for (const Severity severity : {Severity::error, Severity::warning}) {
    const auto count = std::count_if(lint.findings.begin(), lint.findings.end(),
                                     [&](const LintFinding& found) { return found.severity == severity; });
    if (count > 0) parts.push_back(fmt::format("{} {}{}", count, to_string(severity), count > 1 ? "s" : ""));
  }
  return parts.empty() ? "nothing is wrong with it" : join(parts, ", ");
}

void print(const CommandLint& lint) {
  fmt::print("{}: {}\n", lint.rule, counted(lint));
  for (const Finding& finding : findings_of(lint)) {
    if (finding.state != FindingState::fired) continue;
    fmt::print("\n  {:<8} {}\n           {}\n", to_string(finding.severity), escape_controls(finding.title),
               finding.says);
    for (const std::string& fix : finding.advice) fmt::print("           write: {}\n", escape_controls(fix));
  }
  if (!lint.right.empty()) fmt::print("\nRight\n");
  for (const std::string& line : lint.right) fmt::print("  {}\n", escape_controls(line));
  if (!lint.notes.empty()) fmt::print("\nBesides\n");
  for (const std::string& note : lint.notes) fmt::print("  - {}\n", note);
}

}  // namespace

void declare_typed_command(CLI::App& app, TypedCommand& typed) {
  auto* nsys = app.add_option("--nsys", typed.nsys, "what is wrong with an nsys (or ncu) command, and the right one");
  auto* nccl =
      app.add_option("--nccl-tests", typed.nccl_tests, "the same of a command of nccl-tests, its launcher and loop");
  auto* perf = app.add_option("--perf", typed.perf, "the same of a perf command");
  for (auto* option : {nsys, nccl, perf}) option->type_name("COMMAND");
  nsys->excludes(nccl)->excludes(perf);
  nccl->excludes(perf);
  app.add_option("--json", typed.output.json,
                 "of a command: write the findings as a report to FILE; - is standard output")
      ->type_name("FILE");
  app.add_option("--fail-on", typed.output.fail_on, "of a command: exit with 10 when a finding is at least this grave")
      ->type_name("SEVERITY")
      ->check(CLI::IsMember({"info", "warning", "error"}));
}

Result<int> explain_typed_command(const TypedCommand& typed) {
  const Result<CommandLint> lint = !typed.nsys.empty()         ? lint_nsys(typed.nsys)
                                   : !typed.nccl_tests.empty() ? lint_nccl_tests(typed.nccl_tests)
                                                               : lint_perf(typed.perf);
  if (!lint) return lint.error();
  const Report report = report_of(*lint);
  if (typed.output.json != "-") print(*lint);
  if (!typed.output.json.empty())
    if (const Result<void> written = write_json_report(report, typed.output.json); !written) return written.error();
  return gate(report, typed.output);
}

}  // namespace gradsync
