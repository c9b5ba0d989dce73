#include "src/commands/output.h"

#include <fcntl.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>

#include "src/base/file.h"
#include "src/base/write_bytes.h"
#include "src/commands/exit_status.h"
#include "src/report/html.h"
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

Error not_written(const std::filesystem::path& path, int error) {
  return Error{"cannot write", path.string(), errno_text(error), "", exit_status::kDoctorFailed};
}

Result<void> write_text(const std::filesystem::path& path, std::string_view text) {
  if (is_replaced(path)) return write_file(path, text);
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const int error = file ? write_bytes(file.get(), text) : errno;
  return error == 0 ? Result<void>() : not_written(path, error);
}

Result<void> may_write(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return not_written(path, EISDIR);
  const std::filesystem::path parent = path.parent_path().empty() ? "." : path.parent_path();
  const bool may = is_replaced(path) ? ::access(parent.c_str(), W_OK | X_OK) == 0 : ::access(path.c_str(), W_OK) == 0;
  if (!may) return not_written(path, errno);
  return {};
}

// The files of a report besides the terminal's: what they are called and what is in them.
struct ReportFile {
  const std::string& file;
  std::string (*render)(const Report&);
};

std::array<ReportFile, 2> files_of(const OutputOptions& options) {
  return {{{options.json, report_to_json}, {options.html, render_html}}};
}

}  // namespace

void declare_json_and_html(CLI::App& app, OutputOptions& options) {
  app.add_option("--json", options.json, "write the report as JSON to FILE; - is standard output")->type_name("FILE");
  app.add_option("--html", options.html, "write the report as one HTML page to FILE; - is standard output")
      ->type_name("FILE");
}

void declare_output(CLI::App& app, OutputOptions& options) {
  declare_json_and_html(app, options);
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

Result<void> check_output(const OutputOptions& options) {
  if (!options.json.empty() && options.json == options.html)
    return Error{"--json and --html", options.json, "both want it", "give one of them another file",
                 exit_status::kUsage};
  for (const ReportFile& one : files_of(options))
    if (!one.file.empty() && one.file != "-")
      if (Result<void> may = may_write(one.file); !may) return may;
  return {};
}

Result<void> write_json_report(const Report& report, const std::string& file) {
  return file == "-" ? print(report_to_json(report)) : write_text(file, report_to_json(report));
}

bool owns_stdout(const OutputOptions& options) { return options.json == "-" || options.html == "-"; }

Result<void> write_report_files(const Report& report, const OutputOptions& options) {
  Result<void> first_error;
  for (const ReportFile& one : files_of(options)) {
    if (one.file.empty()) continue;
    Result<void> written = one.file == "-" ? print(one.render(report)) : write_text(one.file, one.render(report));
    if (!written && first_error) first_error = std::move(written);
  }
  return first_error;
}

Result<void> show_report(const Report& report, const OutputOptions& options) {
  Result<void> written = write_report_files(report, options);
  if (owns_stdout(options)) return written;
  Result<void> shown = print(render_terminal(report, terminal_options(options)));
  return written ? std::move(shown) : std::move(written);
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
