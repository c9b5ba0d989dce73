#include "src/report/html/plot.h"

#include <doctest/doctest.h>

#include <limits>

namespace gradsync {

using Ticks = std::vector<double>;

TEST_CASE("round ticks in the range") {
  CHECK(Scale(ScaleKind::linear, 0, 142, 0, 100).ticks(4) == Ticks{0, 50, 100});
  CHECK(Scale(ScaleKind::linear, -3, 52, 0, 100).ticks(6) == Ticks{0, 10, 20, 30, 40, 50});
  CHECK(Scale(ScaleKind::logarithmic, 8, 20000, 0, 100).ticks(6) == Ticks{10, 100, 1000, 10000});
  CHECK(Scale(ScaleKind::sizes, 1024, 1048576, 0, 100).ticks(6) == Ticks{1024, 4096, 16384, 65536, 262144, 1048576});
  CHECK(Scale(ScaleKind::logarithmic, 20, 80, 0, 100).ticks(4) == Ticks{20, 50});
  CHECK(Scale(ScaleKind::logarithmic, 22, 48, 0, 100).ticks(4) == Ticks{30, 40});
  CHECK(Scale(ScaleKind::whole, 1, 5, 0, 100).ticks(9) == Ticks{1, 2, 3, 4, 5});
}

TEST_CASE("positions; what lies beside the range lies at its end") {
  const Scale linear(ScaleKind::linear, 0, 10, 100, 200), logarithmic(ScaleKind::logarithmic, 1, 100, 0, 100);
  CHECK(linear.at(5) == 150);
  CHECK(Scale(ScaleKind::whole, 0, 10, 100, 200).at(5) == 150);
  CHECK(linear.at(-1) == 100);
  CHECK(linear.at(1e300) == 200);
  CHECK(linear.at(std::numeric_limits<double>::quiet_NaN()) == 100);
  CHECK(logarithmic.at(10) == doctest::Approx(50));
  CHECK(logarithmic.at(0) == 0);
}

TEST_CASE("a range of nothing, or of what is no number, is still an axis") {
  for (const ScaleKind kind : {ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::sizes}) {
    CHECK(Scale(kind, 0, 0, 0, 100).ticks(5).size() < 50);
    CHECK(Scale(kind, 7, 7, 0, 100).at(7) == 0);
    CHECK(Scale(kind, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 0, 100)
              .ticks(5)
              .size() < 50);
  }
}

TEST_CASE("a figure says what it shows: title, description, caption, legend, tips") {
  Markup page;
  Plot plot(page, {"Times", "up to 9 ms", "of rank 0"}, {ScaleKind::linear, 0, 9, "step", {}},
            {ScaleKind::linear, 0, 9, "", {}}, {100, 60, 10, 10, 10, 20});
  plot.box("p0", plot.x(0), plot.y(9), 5, 7, "9 ms");
  plot.finish({{"p0", "time"}});
  const std::string text = page.take();
  for (const char* part :
       {"<h3>Times</h3>", "<title id=\"plot-Times-t\">Times</title>", "<desc id=\"plot-Times-d\">up to 9 ms</desc>",
        "<rect class=\"p0\" x=\"10\" y=\"10\" width=\"5\" height=\"7\"><title>9 ms</title></rect>", " time</span>",
        "of rank 0"})
    CHECK_MESSAGE(text.find(part) != std::string::npos, part);
}

}  // namespace gradsync
