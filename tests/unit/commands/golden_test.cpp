// Golden cases: tests/golden/<case>/ (golden_report.h) → report.json and report.txt, byte for byte; where there is
// one, report.html, too (an empty one and GSD_UPDATE_GOLDEN=1 begin it). A case may have a clean.txt: rules that must judge it and find nothing, a line each, with the scope where others of the rule cannot be judged.
// GSD_UPDATE_GOLDEN=1 rewrites them; read the difference before committing it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "src/base/file.h"
#include "src/diagnosis/diagnose.h"
#include "src/report/html.h"
#include "src/report/json.h"
#include "src/report/terminal.h"
#include "tests/unit/commands/golden_report.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

void compare(const fs::path& file, const std::string& bytes) {
  CAPTURE(file.string());
  if (std::getenv("GSD_UPDATE_GOLDEN") != nullptr) REQUIRE(write_file(file, bytes));
  const auto golden = read_file(file);
  REQUIRE(golden);
  CHECK(*golden == bytes);
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

}  // namespace

TEST_CASE("golden cases") {
  const auto rules = builtin_rules();
  REQUIRE(rules);
  std::set<std::string> clean;  // rules that judged some case and found nothing
  for (const auto& entry : fs::directory_iterator(GSD_GOLDEN_CASES)) {
    CAPTURE(entry.path().string());
    auto report = test::golden_report(entry.path(), *rules);
    REQUIRE(report);
    for (const auto& [first, second] : contradictions(*rules, report->findings))
      FAIL_CHECK(first << " and " << second << " exclude each other, and nothing says which is followed first");
    check_clean(entry.path(), report->findings);
    for (const Finding& finding : report->findings)
      if (finding.state == FindingState::clean) clean.insert(finding.rule);
    TerminalOptions terminal;
    terminal.width = 100;
    compare(entry.path() / "report.txt", render_terminal(*report, terminal));
    // The names of the others are in the text; each new rule would change every case for nothing.
    std::erase_if(report->findings, [](const Finding& finding) { return finding.state != FindingState::fired; });
    compare(entry.path() / "report.json", report_to_json(*report));
    if (fs::exists(entry.path() / "report.html")) compare(entry.path() / "report.html", render_html(*report));
  }
  for (const Rule& rule : rules->rules) {
    CAPTURE(rule.id);
    CHECK(clean.count(rule.id) == 1);  // that it fires in one is what lint asks of the reports
  }
}
