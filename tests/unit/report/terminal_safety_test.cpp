// Properties of every drawing: it keeps the width, and nothing from the job reaches the terminal as a control.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "src/base/text.h"
#include "src/report/terminal.h"
#include "tests/unit/report/examples.h"

namespace gradsync {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Everything that terminals act on.
const std::string kPoison =
    "a\x1b[2J\x1b]0;owned\x07\r\n\x9b"
    "31m\xe2\x80\xae"
    "b\xc2\x9b\xff";

// One word, wider than any terminal, of narrow and of wide characters.
Report endless_report() {
  Report report = slow_topk_report();
  std::string word;
  for (int count = 0; count < 100; ++count) word += "ab慢";
  report.run.command_line = {word};
  report.verdict.text = word;
  for (Finding& finding : report.findings) finding.title = finding.where = finding.says = finding.hint = word;
  for (Coverage& entry : report.coverage) entry.source = entry.reason = word;
  return report;
}

}  // namespace

TEST_CASE("no line is wider than the terminal or ends with a blank, whatever the width") {
  for (const Report& report : {slow_topk_report(), healthy_report(), unmeasured_report(), Report{},
                               poisoned_report(kPoison), endless_report()}) {
    for (const Verbosity verbosity : {Verbosity::quiet, Verbosity::normal, Verbosity::verbose}) {
      for (const Charset charset : {Charset::utf8, Charset::ascii}) {
        for (int width = 40; width <= 160; width += width < 64 ? 3 : 16) {
          const std::string text =
              render_terminal(report, {.width = width, .charset = charset, .verbosity = verbosity});
          CHECK(text.ends_with("\n"));
          int widest = 0;
          bool blank_end = false;
          for (const std::string& line : lines_of(text)) {
            widest = std::max(widest, display_width(line));
            blank_end = blank_end || line.ends_with(" ");
          }
          CAPTURE(text);
          CHECK(widest <= width);
          CHECK(!blank_end);
        }
      }
    }
  }
}

TEST_CASE("widths beyond 40 to 160 are taken as the nearest") {
  const Report report = slow_topk_report();
  CHECK(render_terminal(report, {.width = 0}) == render_terminal(report, {.width = 40}));
  CHECK(render_terminal(report, {.width = 1000}) == render_terminal(report, {.width = 160}));
}

TEST_CASE("control characters of the job are shown, not sent") {
  for (const Verbosity verbosity : {Verbosity::quiet, Verbosity::normal, Verbosity::verbose}) {
    std::string text = render_terminal(poisoned_report(kPoison), {.verbosity = verbosity});
    CHECK(text.find("a\\x1b[2J\\x1b]0;owned\\x07") != std::string::npos);
    std::erase(text, '\n');
    CHECK(escape_controls(text) == text);
  }
}

TEST_CASE("ASCII means ASCII") {
  for (const Report& report : {slow_topk_report(), healthy_report(), poisoned_report(kPoison), endless_report()}) {
    const std::string text = render_terminal(report, {.charset = Charset::ascii, .verbosity = Verbosity::verbose});
    CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < 0x7f); }));
  }
}

TEST_CASE("colour only when asked, and it changes nothing else") {
  const Report report = slow_topk_report();
  const std::string plain = render_terminal(report, {});
  CHECK(plain.find('\x1b') == std::string::npos);
  std::string coloured = render_terminal(report, {.color = Color::on});
  CHECK(coloured.find("\x1b[1;31m") != std::string::npos);
  for (std::size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  CHECK(coloured == plain);
}

}  // namespace gradsync
