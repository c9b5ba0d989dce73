#include "src/report/markdown.h"

#include <doctest/doctest.h>

#include "src/report/markdown/text.h"
#include "tests/unit/report/examples.h"
#include "tests/unit/report/golden.h"

namespace gradsync {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("each report as Markdown") {
  for (const auto& [name, report] : {std::pair{"slow_topk", slow_topk_report()}, std::pair{"healthy", healthy_report()},
                                     std::pair{"unmeasured", unmeasured_report()}}) {
    const std::string text = report_to_markdown(report);
    CHECK(text == golden(std::string(name) + ".md", text));
    CHECK(count(text, "<details>") == count(text, "</details>"));
  }
}

TEST_CASE("text of the job cannot become markup") {
  namespace md = markdown;
  CHECK(md::plain("<img src=x onerror=y>") == "&#60;img src=x onerror=y&#62;");
  CHECK(md::plain("[a](b) **c** ~~d~~ `e`") ==
        "&#91;a&#93;(b) &#42;&#42;c&#42;&#42; &#126;&#126;d&#126;&#126; &#96;e&#96;");
  CHECK(md::plain("@everyone #12 a|b\nc") == "&#64;everyone &#35;12 a&#124;b c");
  CHECK(md::plain("a_b _c_ \x1b[2J") == "a_b &#95;c&#95; &#92;x1b&#91;2J");
  CHECK(md::plain("    12. x") == "&#49;2. x");
  CHECK(md::plain("- x") == "&#45; x");
  CHECK(md::plain("1.5 ms - x") == "1.5 ms - x");
  CHECK(md::code("train.py:87 in hook") == "`train.py:87 in hook`");
  CHECK(md::code("a`b|c") == "<code>a&#96;b&#124;c</code>");
  CHECK(md::code("") == "<code></code>");
}

TEST_CASE("a hostile report keeps its tables and blocks") {
  Report report = slow_topk_report();
  const std::string poison = "x\n\n</details>\n| a | b |\n# <script>`";
  report.verdict.text = report.run.backend = poison;
  for (Finding& finding : report.findings) finding.says = finding.title = finding.hint = finding.rule = poison;
  for (Coverage& entry : report.coverage) entry.source = entry.reason = poison;
  const std::string text = report_to_markdown(report);
  CHECK(count(text, "<script>") == 0);
  CHECK(count(text, "<details>") == count(text, "</details>"));
  CHECK(count(text, "\n# ") == 0);
  CHECK(count(text, "\n| a |") == 0);
}

}  // namespace
}  // namespace gradsync
