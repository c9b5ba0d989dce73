#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/parts.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

// As one would type it in a shell, near enough to be recognised.
std::string shell_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"") == std::string::npos;
    words.push_back(plain ? argument : "'" + argument + "'");
  }
  return join(words, " ");
}

}  // namespace

std::string command_text(const Report& report) {
  const std::string job = escape_controls(shell_words(report.run.command_line));
  return report.command.empty() || report.command == "run" ? job : join_words(report.command, job);
}

std::string run_text(const RunInfo& run) {
  std::vector<std::string> words;
  if (run.hosts.size() > 1) words.push_back(plural(static_cast<std::int64_t>(run.hosts.size()), "host"));
  if (run.ranks > 0) words.push_back(plural(run.ranks, "rank"));
  if (run.steps > 0) words.push_back(plural(run.steps, "step"));
  if (std::isfinite(run.seconds) && run.seconds > 0) words.push_back(format_seconds(run.seconds));
  if (!run.backend.empty()) words.push_back(run.backend);
  if (run.exit_status.value_or(0) != 0) words.push_back(fmt::format("exit status {}", *run.exit_status));
  return join(words, " · ");
}

std::string observer_text(const Report& report) {
  if (const auto measured = find_metric(report, "observer.ab_percent", "all"); measured.metric != nullptr)
    return "observer cost " + format_percent(measured.value) + " (ABBA)";
  const auto timed = find_metric(report, "observer.cost_percent", "all");
  return timed.metric == nullptr ? "" : "observer cost " + format_percent(timed.value);
}

namespace {

Paint paint_of(VerdictSign sign) {
  switch (sign) {
    case VerdictSign::costs:
      return Paint::bad;
    case VerdictSign::saves:
    case VerdictSign::neutral:
      return Paint::good;
    case VerdictSign::unknown:
      return Paint::warning;
  }
  return Paint::warning;
}

void draw_map(std::string_view heading, const std::map<std::string, std::string>& map, Canvas& canvas) {
  if (map.empty()) return;
  canvas.label(heading, 0, 10, Paint::strong);
  std::size_t left = map.size();
  for (const auto& [name, value] : map) canvas.piece(fmt::format("{} {}{}", name, value, --left == 0 ? "" : " ·"));
}

}  // namespace

void draw_header(const Report& report, Canvas& canvas) {
  canvas.start(0, 2);
  canvas.piece(join_words(report.tool.name, report.tool.version), Paint::strong);
  const bool whole = canvas.options().verbosity == Verbosity::verbose;
  const std::string command = command_text(report);
  canvas.piece(whole ? command : shorten(command, canvas.width() - 4, "…"), Paint::plain, 3);
  canvas.piece(run_text(report.run), Paint::plain, 3);
  canvas.right(observer_text(report), Paint::faint);
}

std::vector<std::string> verdict_lines(const Report& report) {
  std::string_view left = report.verdict.text;
  if (trim(left).empty()) left = "none: nothing was measured that could tell";
  std::vector<std::string> lines;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    lines.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return lines;
}

void draw_verdict(const Report& report, Canvas& canvas) {
  const int column = canvas.narrow() ? 2 : 9;
  canvas.start(0, column);
  canvas.piece("VERDICT", paint_of(report.verdict.sign));
  canvas.tab(column);
  bool first = true;
  for (const std::string& line : verdict_lines(report)) {
    if (!first) canvas.start(column, column);
    canvas.prose(line);
    first = false;
  }
}

void draw_facts(const Report& report, Canvas& canvas) {
  draw_map("FACTS", report.facts, canvas);
  draw_map("VERSIONS", report.run.versions, canvas);
  draw_map("TOOL", report.tool.parts, canvas);
  if (!report.run.recording.empty()) draw_map("RECORDING", {{report.run.recording, report.run.recording_id}}, canvas);
}

}  // namespace gradsync
