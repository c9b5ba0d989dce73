#include "src/report/html/markup.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("elements close in order, and what is in them is escaped") {
  Markup page;
  page.open("p", {{"title", "a \"b\" <c>"}});
  page.text("1 < 2 & 'three'\x01");
  page.empty("br");
  page.element("b", {}, "x");
  CHECK(page.take() == "<p title=\"a &quot;b&quot; &lt;c&gt;\">1 &lt; 2 &amp; &#39;three&#39;\\x01<br/><b>x</b></p>\n");
}

TEST_CASE("characters that no document may hold") {
  CHECK(escape_markup("a\xef\xbf\xbe\xef\xbf\xbf"
                      "b") ==
        "a\xef\xbf\xbd\xef\xbf\xbd"
        "b");
  CHECK(escape_markup("\xef\xbf\xbd") == "\xef\xbf\xbd");
  CHECK(escape_markup("\xff\xe2\x80\xae") == "\\xff\\u{202e}");
}

TEST_CASE("identifiers are of safe characters, and none comes twice") {
  Markup page;
  CHECK(page.id("late-rank-rank:1") == "late-rank-rank-1");
  CHECK(page.id("late-rank-rank:1") == "late-rank-rank-1.2");
  CHECK(page.id("late-rank-rank 1") == "late-rank-rank-1.3");
  CHECK(page.id("9\" onload=\"") == "x9--onload--");
  CHECK(page.id("") == "x");
}

TEST_CASE("coordinates have one digit where they need it") {
  CHECK(coordinate(12.04) == "12");
  CHECK(coordinate(12.06) == "12.1");
  CHECK(coordinate(-0.04) == "0");
}

}  // namespace gradsync
