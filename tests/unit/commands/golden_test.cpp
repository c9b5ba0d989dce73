// Golden cases: tests/golden/<case>/events.txt → report.json and report.txt, byte for byte. facts.txt, where there is one,
// holds what collectors of the machine would have added, key=value, a line each; such a case goes straight to timelines,
// because its hosts and its device's streams are no writer's of this machine.
// A case may have a series.json: tables and coverage that collectors of the doctor wrote, as a report; and a clean.txt:
// rules that must judge it and find nothing, a line each, with the scope where others of the rule cannot be judged.
// GSD_UPDATE_GOLDEN=1 rewrites them; read the difference before committing it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "src/base/file.h"
#include "src/base/host_name.h"
#include "src/commands/examine.h"
#include "src/diagnosis/diagnose.h"
#include "src/diagnosis/rule_set.h"
#include "src/report/json.h"
#include "src/report/terminal.h"
#include "src/timeline/builder.h"
#include "tests/support/text_events.h"
#include "tests/support/text_recording.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

// What differs between machines and versions is not what the golden files are about.
void normalise(Report& report) {
  report.tool.version = "test";
  report.tool.parts.clear();
  report.run.recording = "recording";
  for (std::string& host : report.run.hosts)
    if (host == host_name()) host = "this-host";
  std::erase_if(report.metrics, [](const Metric& metric) { return metric.name == "observer.cost_percent"; });
}

void compare(const fs::path& file, const std::string& bytes) {
  CAPTURE(file.string());
  if (std::getenv("GSD_UPDATE_GOLDEN") != nullptr) REQUIRE(write_file(file, bytes));
  const auto golden = read_file(file);
  REQUIRE(golden);
  CHECK(*golden == bytes);
}

Facts added_facts(const fs::path& folder) {
  Facts facts;
  const auto text = read_file(folder / "facts.txt");
  if (!text) return facts;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
      facts[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return facts;
}

void check_clean(const fs::path& folder, const std::vector<Finding>& findings) {
  const auto text = read_file(folder / "clean.txt");
  if (!text) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::string rule = line.substr(0, line.find(' ')),
                      scope = line.substr(std::min(rule.size() + 1, line.size()));
    const auto judged = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.rule == rule && (scope.empty() || finding.scope == scope);
    });
    CAPTURE(line);
    REQUIRE(judged != findings.end());
    CHECK_MESSAGE(judged->state == FindingState::clean, to_string(judged->state) << ": " << judged->says);
  }
}

Report from_memory(const std::string& events, const Report& parts, const RuleSet& rules) {
  TimelineBuilder builder;
  test::feed(events, builder);
  Inputs inputs;
  load_name_classes(rules, inputs);
  inputs.run = parts.run;
  inputs.facts = parts.facts;
  inputs.coverage = parts.coverage;
  inputs.series = parts.series;
  return conclude(builder.build(), std::move(inputs), rules, {});
}

}  // namespace

TEST_CASE("golden cases") {
  const auto rules = builtin_rules();
  REQUIRE(rules);
  for (const auto& entry : fs::directory_iterator(GSD_GOLDEN_CASES)) {
    Report parts;
    parts.tool.version = "test";
    parts.command = "run";
    parts.run.command_line = {"python3", "train.py"};
    parts.run.seconds = 0.75;
    parts.facts = added_facts(entry.path());
    if (const auto series = read_file(entry.path() / "series.json")) {
      auto told = report_from_json(*series, "series.json");
      REQUIRE(told);
      parts.series = std::move(told->series);
      parts.coverage = std::move(told->coverage);
    }
    const auto events = read_file(entry.path() / "events.txt");
    REQUIRE(events);
    auto report = parts.facts.empty() ? examine(test::TextRecording(*events, parts).folder(), *rules)
                                      : Result<Report>(from_memory(*events, parts, *rules));
    REQUIRE(report);
    normalise(*report);
    CAPTURE(entry.path().string());
    for (const auto& [first, second] : contradictions(*rules, report->findings))
      FAIL_CHECK(first << " and " << second << " exclude each other, and nothing says which is followed first");
    check_clean(entry.path(), report->findings);
    TerminalOptions terminal;
    terminal.width = 100;
    compare(entry.path() / "report.txt", render_terminal(*report, terminal));
    // The names of the others are in the text; each new rule would change every case for nothing.
    std::erase_if(report->findings, [](const Finding& finding) { return finding.state != FindingState::fired; });
    compare(entry.path() / "report.json", report_to_json(*report));
  }
}
