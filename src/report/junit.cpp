#include "src/report/junit.h"

#include <fmt/format.h>

#include <vector>

#include "src/base/text.h"
#include "src/base/units.h"
#include "src/report/parts/words.h"

namespace gradsync {
namespace {

// XML 1.0 has no way to write the others, not even as references.
bool allowed(char32_t c) {
  return c == U'\t' || c == U'\n' || c == U'\r' || (c >= 0x20 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd) ||
         (c >= 0x10000 && c <= 0x10ffff);
}

enum class Place { text, attribute };  // an attribute loses its line breaks, but for references

std::string xml(std::string_view text, Place place = Place::attribute) {
  std::string safe;
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    const std::string_view bytes = text.substr(0, point.bytes);
    text.remove_prefix(point.bytes);
    if (!point.valid)
      safe += "\xef\xbf\xbd";
    else if (!allowed(point.value))
      continue;
    else if ((point.value < 0x20 && place == Place::attribute) ||
             std::string_view("&<>\"'").find(bytes) != std::string_view::npos)
      safe += fmt::format("&#{};", static_cast<unsigned>(point.value));
    else
      safe += bytes;
  }
  return safe;
}

std::string body_of(const Report& report, const Finding& finding) {
  std::string text = finding.says + "\n";
  for (const std::string& name : finding.evidence) {
    const auto [metric, value] = find_metric(report, name, finding.scope);
    if (metric == nullptr) continue;
    text += "evidence: " + name + " " + format_value(value, metric->unit()) + " " + spread_text(*metric) + "\n";
  }
  if (!finding.where.empty()) text += "where: " + finding.where + "\n";
  for (const std::string& advice : finding.advice) text += "try: " + advice + "\n";
  if (finding.saves) text += "saves: " + saving_text(*finding.saves) + "\n";
  return text;
}

std::string case_of(const Report& report, const Finding& finding, Severity fail_on) {
  const std::string name =
      finding.scope == "all" ? finding.rule : finding.rule + " (" + scope_text(finding.scope) + ")";
  const std::string open =
      fmt::format("    <testcase classname=\"gradsync-doctor.step{}\" name=\"{}\" time=\"0\"", finding.step, xml(name));
  switch (finding.state) {
    case FindingState::could_not_judge: {
      const std::string why = finding.says + (finding.hint.empty() ? "" : " (hint: " + finding.hint + ")");
      return open + ">\n      <skipped message=\"" + xml(why) + "\"/>\n    </testcase>\n";
    }
    case FindingState::fired: {
      const std::string body = xml(body_of(report, finding), Place::text);
      if (finding.severity < fail_on) return open + ">\n      <system-out>" + body + "</system-out>\n    </testcase>\n";
      return fmt::format("{}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n", open,
                         to_string(finding.severity), xml(finding.title), body);
    }
    case FindingState::clean:
      break;
  }
  return open + "/>\n";
}

struct Suite {
  std::string cases;
  std::int64_t tests = 0, failures = 0, skipped = 0;
};

Suite suite_of(const Report& report, int step, Severity fail_on) {
  Suite suite;
  for (const Finding& finding : report.findings) {
    const bool of_none = finding.step < 1 || finding.step > 4;
    if (step == 0 ? !of_none : finding.step != step) continue;
    ++suite.tests;
    suite.failures += finding.state == FindingState::fired && finding.severity >= fail_on ? 1 : 0;
    suite.skipped += finding.state == FindingState::could_not_judge ? 1 : 0;
    suite.cases += case_of(report, finding, fail_on);
  }
  return suite;
}

std::string counts(const Suite& suite) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"0\"", suite.tests, suite.failures,
                     suite.skipped);
}

}  // namespace

std::string report_to_junit(const Report& report, Severity fail_on) {
  Suite all;
  for (const int step : {1, 2, 3, 4, 0}) {
    const Suite one = suite_of(report, step, fail_on);
    if (one.tests == 0) continue;
    const std::string number = step == 0 ? "" : std::to_string(step) + " ";
    all.cases += fmt::format("  <testsuite name=\"{}{}\" {}>\n{}  </testsuite>\n", number, diagnostic_step_name(step),
                             counts(one), one.cases);
    all.tests += one.tests;
    all.failures += one.failures;
    all.skipped += one.skipped;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gradsync-doctor\" {}>\n{}</testsuites>\n",
      counts(all), all.cases);
}

}  // namespace gradsync
