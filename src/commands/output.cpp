#include "src/commands/output.h"

#include <fcntl.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>

#include "src/base/file.h"
#include "src/commands/exit_status.h"
#include "src/report/json.h"
#include "src/report/terminal.h"

namespace gradsync {
namespace {

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int width = columns == nullptr ? 0 : std::atoi(columns);
  return width > 0 ? width : 100;
}

bool utf8_locale() {
  std::setlocale(LC_CTYPE, "");
  const std::string codeset = ::nl_langinfo(CODESET);
  return codeset == "UTF-8" || codeset == "utf8";
}

bool color_is_welcome() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && std::string_view(kind) == "dumb";
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') && !dumb;
}

TerminalOptions terminal_options(const OutputOptions& options) {
  TerminalOptions terminal;
  terminal.width = terminal_width();
  const bool wanted = options.color == "always" || (options.color == "auto" && color_is_welcome());
  terminal.color = wanted ? Color::on : Color::off;
  terminal.charset = utf8_locale() ? Charset::utf8 : Charset::ascii;
  terminal.verbosity = options.quiet ? Verbosity::quiet : options.verbose ? Verbosity::verbose : Verbosity::normal;
  return terminal;
}

Result<void> print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return Error{"cannot write the report", "standard output", errno_text(errno), "", exit_status::kDoctorFailed};
}

// Renaming a new file over /dev/stdout, a named pipe or a device would put an end to it: those are written to.
Result<void> write_json(const std::filesystem::path& path, std::string_view text) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) return write_file(path, text);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  while (file && !text.empty()) {
    const ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0 && errno != EINTR) break;
    if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (file && text.empty()) return {};
  return Error{"cannot write", path.string(), errno_text(errno), "", exit_status::kDoctorFailed};
}

}  // namespace

void declare_output(CLI::App& app, OutputOptions& options) {
  app.add_option("--json", options.json, "write the report as JSON to FILE; - is standard output")->type_name("FILE");
  app.add_option("--color", options.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  app.add_option("--fail-on", options.fail_on,
                 "exit with 10 when a finding is at least this severe: info, warning, error")
      ->check(CLI::IsMember({"info", "warning", "error"}))
      ->type_name("SEVERITY");
  auto* quiet = app.add_flag("-q,--quiet", options.quiet, "only the verdict and a line per finding");
  app.add_flag("-v,--verbose", options.verbose, "also why, every rank, facts and versions")->excludes(quiet);
}

Result<void> write_json_report(const Report& report, const std::string& file) {
  return file == "-" ? print(report_to_json(report)) : write_json(file, report_to_json(report));
}

Result<void> show_report(const Report& report, const OutputOptions& options) {
  if (options.json == "-") return print(report_to_json(report));
  if (!options.json.empty())
    if (const Result<void> written = write_json(options.json, report_to_json(report)); !written) {
      [[maybe_unused]] const Result<void> shown = print(render_terminal(report, terminal_options(options)));
      return written.error();
    }
  return print(render_terminal(report, terminal_options(options)));
}

Severity severity_of(const std::string& fail_on) {
  return fail_on == "info" ? Severity::info : fail_on == "error" ? Severity::error : Severity::warning;
}

int gate(const Report& report, const OutputOptions& options) {
  if (options.fail_on.empty()) return exit_status::kDone;
  for (const Finding& finding : report.findings)
    if (finding.state == FindingState::fired && finding.severity >= severity_of(options.fail_on))
      return exit_status::kFinding;
  return exit_status::kDone;
}

int print_error(const Error& error) {
  std::fprintf(stderr, "gradsync-doctor: %s\n", error.message().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  try: %s\n", error.hint.c_str());
  return error.exit_status;
}

}  // namespace gradsync
