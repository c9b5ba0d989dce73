// Golden cases: tests/golden/<case>/events.txt → report.json and report.txt, byte for byte.
// A case may have a series.json: tables that collectors of the doctor wrote, as a report.
// GSD_UPDATE_GOLDEN=1 rewrites them; read the difference before committing it.
#include <doctest/doctest.h>

#include <cstdlib>

#include "src/base/file.h"
#include "src/commands/examine.h"
#include "src/diagnosis/rule_set.h"
#include "src/report/json.h"
#include "src/report/terminal.h"
#include "tests/support/text_recording.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

// What differs between machines and versions is not what the golden files are about.
void normalise(Report& report) {
  report.tool.version = "test";
  report.tool.parts.clear();
  report.run.recording = "recording";
  std::erase_if(report.metrics, [](const Metric& metric) { return metric.name == "observer.cost_percent"; });
}

void compare(const fs::path& file, const std::string& bytes) {
  CAPTURE(file.string());
  if (std::getenv("GSD_UPDATE_GOLDEN") != nullptr) REQUIRE(write_file(file, bytes));
  const auto golden = read_file(file);
  REQUIRE(golden);
  CHECK(*golden == bytes);
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
    if (const auto series = read_file(entry.path() / "series.json")) {
      auto told = report_from_json(*series, "series.json");
      REQUIRE(told);
      parts.series = std::move(told->series);
    }
    const auto events = read_file(entry.path() / "events.txt");
    REQUIRE(events);
    const test::TextRecording recording(*events, parts);
    auto report = examine(recording.folder(), *rules);
    REQUIRE(report);
    normalise(*report);
    compare(entry.path() / "report.json", report_to_json(*report));
    TerminalOptions terminal;
    terminal.width = 100;
    compare(entry.path() / "report.txt", render_terminal(*report, terminal));
  }
}
