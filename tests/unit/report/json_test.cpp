#include "src/report/json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/unit/report/examples.h"
#include "tests/unit/report/golden.h"

namespace gradsync {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

std::string problem(const std::string& text) {
  const auto report = report_from_json(text, "r.json");
  return report ? "it was read" : report.error().message();
}

Report read(const std::string& text) {
  auto report = report_from_json(text, "r.json");
  REQUIRE_MESSAGE(report, report.error().message());
  return std::move(*report);
}

}  // namespace

TEST_CASE("reports are written as the golden files have them, and read back without a difference") {
  struct Case {
    const char* name;
    Report report;
  };
  const Case cases[] = {{"slow_topk.json", slow_topk_report()},
                        {"healthy.json", healthy_report()},
                        {"unmeasured.json", unmeasured_report()}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const std::string text = report_to_json(c.report);
    CHECK(text == golden(c.name, text));
    CHECK(report_to_json(read(text)) == text);
  }
}

TEST_CASE("a report that was read says what the written one said") {
  const Report report = read(report_to_json(slow_topk_report()));
  CHECK(report.run.command_line.back() == "two words");
  CHECK(report.run.exit_status == 0);
  CHECK(report.coverage[2].state == CoverageState::partial);
  CHECK(report.coverage[2].lost == 12);
  CHECK(report.metrics[1].p90 == 26214400.0);
  CHECK(!report.metrics[0].p10);
  CHECK(report.series == slow_topk_report().series);
  CHECK(report.attribution[0].parts_ms == slow_topk_report().attribution[0].parts_ms);
  Report shares = report;
  shares.attribution = {{.scope = "all",
                         .step = "median",
                         .parts_ms = {{"compute", 3}, {"idle", 1}},
                         .inflated = {"idle"},
                         .shares_only = true}};
  const Report again = read(report_to_json(shares));
  CHECK(again.attribution[0].shares_only);
  CHECK(again.attribution[0].parts_ms == std::map<std::string, double>{{"compute", 75}, {"idle", 25}});
  CHECK(again.attribution[0].inflated == std::vector<std::string>{"idle"});
  const Finding& finding = report.findings[1];
  CHECK(finding.severity == Severity::warning);
  CHECK(finding.state == FindingState::fired);
  CHECK(finding.advice.size() == 2);
  REQUIRE(finding.saves);
  CHECK(finding.saves->kind == SavingKind::predicted);
  CHECK(finding.saves->probability == 0.97);
  CHECK(report.findings[3].folded_under == "compress-not-overlapped");
  CHECK(report.findings[5].would_have_seen == 0.4);
  CHECK(report.findings[5].would_have_seen_unit == "ms");
  CHECK(report.findings[8].hint == "perf stat -e cache-misses");
  CHECK(report.verdict.sign == VerdictSign::costs);
  CHECK(report.verdict.measured);
}

TEST_CASE("numbers keep every digit, integers stay integers") {
  Report report;
  report.series["t"] = {"t", {"a", "b"}, {}};
  report.series["t"].rows = {{0.1 + 0.2, std::numeric_limits<std::int64_t>::max()},
                             {1.0, std::int64_t{1}},
                             {5e-324, std::numeric_limits<std::int64_t>::min()},
                             {1.7976931348623157e308, std::string("x")}};
  const std::string text = report_to_json(report);
  CHECK(text.find("[0.30000000000000004,9223372036854775807]") != std::string::npos);
  CHECK(read(text).series == report.series);
}

TEST_CASE("what is not finite is null where a number must stand, else left out") {
  Report report;
  report.metrics = {{.name = "step.time_ms", .value = kNaN, .p10 = kInfinity, .source = "hook"}};
  report.series["t"] = {"t", {"a"}, {{kInfinity}}};
  report.attribution = {{.scope = "all", .step = "median", .parts_ms = {{"idle", kNaN}}}};
  report.verdict.ms = -kInfinity;
  const std::string text = report_to_json(report);
  CHECK(text.find(R"({"name":"step.time_ms","scope":"all","value":null,"unit":"ms","n":1,"source":"hook"})") !=
        std::string::npos);
  CHECK(text.find(R"("rows":[[null]])") != std::string::npos);
  CHECK(text.find(R"("parts":{"idle":null})") != std::string::npos);
  CHECK(text.find(R"("ms":null)") != std::string::npos);
  const Report again = read(text);
  CHECK(std::isnan(again.metrics[0].value));
  CHECK(std::isnan(again.verdict.ms));
  CHECK(report_to_json(again) == text);
}

TEST_CASE("strings of any bytes give valid JSON") {
  Report report;
  report.run.command_line = {"quote\" back\\slash", "\x1b[31m\n", "\xff\xfe", "慢"};
  const Report again = read(report_to_json(report));
  CHECK(again.run.command_line[0] == report.run.command_line[0]);
  CHECK(again.run.command_line[1] == report.run.command_line[1]);
  CHECK(again.run.command_line[2] == "\xef\xbf\xbd\xef\xbf\xbd");  // bytes that are not UTF-8 cannot be kept
  CHECK(again.run.command_line[3] == "慢");
}

TEST_CASE("keys that are not known are passed over; whole numbers may be written either way") {
  std::string text = report_to_json(unmeasured_report());
  text = replaced(text, R"("schema_version": 1)", R"("schema_version": 1, "later": {"a": [1, null]})");
  text = replaced(text, R"("ranks": 0)", R"("ranks": 0, "nodes": 3)");
  CHECK(report_to_json(read(text)) == report_to_json(unmeasured_report()));
  CHECK(read(replaced(text, R"("ranks": 0)", R"("ranks": 2.0)")).run.ranks == 2);
}

TEST_CASE("files that are no reports") {
  const std::string good = report_to_json(unmeasured_report());
  CHECK(problem("") == "cannot read report r.json: it is empty");
  CHECK(problem(" \n") == "cannot read report r.json: it is empty");
  CHECK(problem("{\n  \"a\": nan}") == "cannot read report r.json: not JSON at line 2, column 9");
  CHECK(problem("\x7f"
                "ELF\x02\x01") == "cannot read report r.json: not JSON at line 1, column 1");
  CHECK(problem("{\"a\": \"\xff\"}") == "cannot read report r.json: not JSON at line 1, column 8");
  CHECK(problem("{\"a\": 1e999}") == "cannot read report r.json: a number in it is out of range");
  CHECK(problem("[1, 2]") == "cannot read report r.json: JSON, but not a report (no schema_version)");
  CHECK(problem("{\"traceEvents\": []}") == "cannot read report r.json: JSON, but not a report (no schema_version)");
  CHECK(problem(std::string(2'000'000, '[')).find("not JSON at line 1") != std::string::npos);
  CHECK(problem(std::string(1'000'000, '[') + std::string(1'000'000, ']')).find("no schema_version") !=
        std::string::npos);
  for (std::size_t length = 1; length + 1 < good.size(); length += 7) {
    CAPTURE(length);
    CHECK(problem(good.substr(0, length)).find("not JSON at line") != std::string::npos);
  }
}

TEST_CASE("reports that break the contract: the first thing wrong is named") {
  struct Case {
    const char* from;
    const char* to;
    const char* why;
  };
  const Case cases[] = {
      {R"("schema_version": 1)", R"("schema_version": 2)", "its schema_version is 2, this program knows 1"},
      {R"("schema_version": 1)", R"("schema_version": 0)", "schema_version: 0 is out of range"},
      {R"("schema_version": 1)", R"("schema_version": "1")", "schema_version: expected an integer, found string"},
      {R"("command": "run",)", "", "command is missing"},
      {R"("verdict")", R"("verdicts")", "verdict is missing"},
      {R"("ranks": 2)", R"("ranks": 2.5)", "run.ranks: 2.5 is not an integer of 64 bits"},
      {R"("ranks": 2)", R"("ranks": 3000000000)", "run.ranks: 3000000000 is out of range"},
      {R"("steps": 48)", R"("steps": 18446744073709551615)",
       "run.steps: 18446744073709551615 is not an integer of 64 bits"},
      {R"("seconds": 21.4)", R"("seconds": "21.4")", "run.seconds: expected a number, found string"},
      {R"("hosts": ["node1"])", R"("hosts": "node1")", "run.hosts: expected a list, found string"},
      {R"("hosts": ["node1"])", R"("hosts": ["node1", 7])", "run.hosts[1]: expected a string, found number"},
      {R"("compression":"topk")", R"("compression":true)", "facts.compression: expected a string, found boolean"},
      {R"("state":"collected")", R"("state":"complete")",
       "coverage[0].state: 'complete' is not one of collected, partial, unavailable"},
      {R"("value":98.0)", R"("value":"98")", "metrics[0].value: expected a number, found string"},
      {R"("n":48)", R"("m":48)", "metrics[0].n is missing"},
      {R"("name": "steps")", R"("name": null)", "series[0].name: expected a string, found null"},
      {R"([0,3,141.25,"as written"])", R"([0,3,141.25])", "series[0].rows[0]: 3 cells for 4 columns"},
      {R"([0,3,141.25,"as written"])", R"([0,3,{},"as written"])",
       "series[0].rows[0][2]: expected a number, found object"},
      {R"("unit": "ms",
      "parts")",
       R"("unit": "us",
      "parts")",
       "attribution[0].unit: only ms and percent are known"},
      {R"("state": "fired")", R"("state": "broken")",
       "findings[0].state: 'broken' is not one of fired, clean, could_not_judge"},
      {R"("kind":"bound")", R"("kind":"\u001b[31mbound")",
       "findings[0].saves.kind: '\\x1b[31mbound' is not one of bound, predicted, measured"},
      {R"("try": [)", R"("advice": [)", "findings[0].try is missing"},
      {R"("sign": "costs")", R"("sign": "+")", "verdict.sign: '+' is not one of costs, saves, neutral, unknown"},
      {R"("measured": true)", R"("measured": 1)", "verdict.measured: expected true or false, found number"},
  };
  const std::string good = report_to_json(slow_topk_report());
  for (const Case& c : cases) {
    CAPTURE(c.from);
    CHECK(problem(replaced(good, c.from, c.to)) == std::string("cannot read report r.json: ") + c.why);
  }
  CHECK(report_from_json(replaced(good, "1", "9"), "r").error().hint ==
        "read it with the gradsync-doctor that wrote it, or a newer one");
}

TEST_CASE("two series of one name are refused") {
  const std::string row = R"({"name": "steps", "columns": [], "rows": []})";
  const std::string text =
      replaced(report_to_json(unmeasured_report()), R"("series": [])", R"("series": [)" + row + "," + row + "]");
  CHECK(problem(text) == "cannot read report r.json: series[1]: a second series of this name");
}

}  // namespace gradsync
