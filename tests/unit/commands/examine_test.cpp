#include "src/commands/examine.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "src/diagnosis/rule_set.h"
#include "src/report/json.h"
#include "src/report/terminal.h"
#include "tests/support/text_recording.h"
#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::TextRecording;

namespace {

std::string rank(int number, int compute_end) {
  return "process host=n pid=1 clean=1\nfact rank=" + std::to_string(number) +
         " world_size=2 device=cpu backend=gloo framework=ddp hook.kind=none ddp.gradient_bytes=4000000\n" +
         test::repeat_step(30, 100000,
                           "range forward @1000..@20000\nrange backward @20000..@80000 compute_end_us=@" +
                               std::to_string(compute_end) + "\nrange optimizer @82000..@100000");
}

Report parts() {
  Report report;
  report.tool.version = "test";
  report.command = "run";
  report.run.command_line = {"python3", "train.py"};
  report.run.seconds = 3;
  report.series["from_a_collector"] = {"from_a_collector", {"x"}, {{std::int64_t{1}}}};
  return report;
}

RuleSet rules() {
  Result<RuleSet> loaded = builtin_rules();
  REQUIRE(loaded);
  return std::move(*loaded);
}

const Finding* find(const Report& report, const std::string& rule) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](const Finding& finding) { return finding.rule == rule; });
  return found == report.findings.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("examine is pure: equal bytes twice, with one thread and with two") {
  const TextRecording recording(rank(0, 60000) + rank(1, 75000), parts());
  const auto once = examine(recording.folder(), rules());
  const auto again = examine(recording.folder(), rules());
  ExamineOptions two;
  two.threads = 2;
  const auto threaded = examine(recording.folder(), rules(), two);
  REQUIRE(once);
  REQUIRE(again);
  REQUIRE(threaded);
  CHECK(report_to_json(*once) == report_to_json(*again));
  CHECK(report_to_json(*once) == report_to_json(*threaded));
  CHECK(render_terminal(*once, {}) == render_terminal(*threaded, {}));
}

TEST_CASE("a rule for each rank fires for the late one, through the bytes on disk") {
  const TextRecording recording(rank(0, 50000) + rank(1, 78000), parts());
  const auto report = examine(recording.folder(), rules());
  REQUIRE(report);
  const Finding* straggler = find(*report, "straggler-rank");
  REQUIRE(straggler != nullptr);
  CHECK(straggler->state == FindingState::fired);
  CHECK(straggler->scope == "rank:1");
  CHECK(&report->findings.front() == straggler);
}

TEST_CASE("what the doctor wrote beside the events is in the report, series of collectors too") {
  const TextRecording recording(rank(0, 60000), parts());
  const auto report = examine(recording.folder(), rules());
  REQUIRE(report);
  CHECK(report->run.command_line == std::vector<std::string>{"python3", "train.py"});
  CHECK(report->series.contains("from_a_collector"));
  CHECK(report->series.at("steps").rows.size() == 27);
  CHECK(report->series.contains("messages"));
  CHECK(report->run.ranks == 1);
}

TEST_CASE("a report reads back from its JSON and is the same") {
  const TextRecording recording(rank(0, 60000) + rank(1, 62000), parts());
  const auto report = examine(recording.folder(), rules());
  REQUIRE(report);
  const std::string json = report_to_json(*report);
  const auto read = report_from_json(json, "test");
  REQUIRE(read);
  CHECK(report_to_json(*read) == json);
}

TEST_CASE("without recording.json (the doctor was killed) the events are still judged") {
  const TextRecording recording(rank(0, 60000), Report{});
  const auto report = examine(recording.folder(), rules());
  REQUIRE(report);
  CHECK(report->run.steps == 27);
  CHECK(std::any_of(report->coverage.begin(), report->coverage.end(),
                    [](const Coverage& coverage) { return coverage.source == "recording.json"; }));
}

TEST_CASE("nothing recorded is not healthy") {
  const TextRecording recording("", parts());
  const auto report = examine(recording.folder(), rules());
  REQUIRE(report);
  CHECK(find(*report, "not-instrumented")->state == FindingState::fired);
  CHECK(find(*report, "exposed-communication")->state == FindingState::could_not_judge);
  CHECK(report->verdict.sign == VerdictSign::unknown);
}
