#include "src/report/junit.h"

#include <doctest/doctest.h>

#include "tests/unit/report/examples.h"
#include "tests/unit/report/golden.h"

namespace gradsync {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Report with_one(FindingState state, Severity severity, const std::string& text) {
  Report report;
  Finding finding;
  finding.rule = "late-rank";
  finding.step = 2;
  finding.scope = "rank:3";
  finding.state = state;
  finding.severity = severity;
  finding.says = finding.title = text;
  finding.hint = "do this";
  report.findings = {finding};
  return report;
}

TEST_CASE("a report as JUnit XML") {
  const std::string text = report_to_junit(slow_topk_report(), Severity::warning);
  CHECK(text == golden("slow_topk.junit.xml", text));
}

TEST_CASE("what is a failure depends on --fail-on; what could not be judged is skipped; clean passes") {
  struct Case {
    FindingState state;
    Severity severity, fail_on;
    const char* holds;
  };
  for (const Case& one :
       {Case{FindingState::fired, Severity::warning, Severity::warning, "<failure type=\"warning\""},
        Case{FindingState::fired, Severity::error, Severity::warning, "<failure type=\"error\""},
        Case{FindingState::fired, Severity::info, Severity::warning, "<system-out>"},
        Case{FindingState::fired, Severity::info, Severity::info, "<failure type=\"info\""},
        Case{FindingState::fired, Severity::warning, Severity::error, "<system-out>"},
        Case{FindingState::could_not_judge, Severity::error, Severity::info,
             "<skipped message=\"text (hint: do this)\"/>"},
        Case{FindingState::clean, Severity::error, Severity::info, "name=\"late-rank (rank 3)\" time=\"0\"/>"}}) {
    const std::string xml = report_to_junit(with_one(one.state, one.severity, "text"), one.fail_on);
    CAPTURE(xml);
    CHECK(count(xml, one.holds) == 1);
    const bool failed = std::string(one.holds).starts_with("<failure");
    CHECK(count(xml, failed ? "failures=\"1\"" : "failures=\"0\"") == 2);
    CHECK(count(xml, "<testsuite name=\"2 small-packet tax\"") == 1);
  }
}

TEST_CASE("text that XML cannot hold") {
  const std::string xml = report_to_junit(
      with_one(FindingState::fired, Severity::error, "<&\"'>\x01\x1b[2J\xff\xef\xbf\xbe\xe2\x96\x87\n]]>"),
      Severity::info);
  CHECK(count(xml, "message=\"&#60;&#38;&#34;&#39;&#62;[2J\xef\xbf\xbd\xe2\x96\x87&#10;]]&#62;\"") == 1);
  CHECK(xml.find('\x01') == std::string::npos);
  CHECK(xml.find('\x1b') == std::string::npos);
}

TEST_CASE("a report without findings is a document, too") {
  CHECK(report_to_junit({}, Severity::warning) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gradsync-doctor\" tests=\"0\" failures=\"0\" "
        "errors=\"0\" skipped=\"0\" time=\"0\">\n</testsuites>\n");
}

}  // namespace
}  // namespace gradsync
