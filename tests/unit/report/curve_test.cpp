#include "src/report/parts/curve.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "src/base/text.h"

namespace gradsync {
namespace {

std::string drawn(const std::vector<CurvePoint>& points, const std::vector<CurveMark>& marks, const CurveFrame& frame) {
  std::string text = "\n";
  for (const std::string& line : curve_lines(points, marks, frame))
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return text;
}

}  // namespace

TEST_CASE("sizes and bandwidths on logarithmic axes, with a marked span") {
  const std::vector<CurvePoint> points{{1024, 0.1}, {4096, 0.4}, {16384, 1}, {65536, 0.5}, {262144, 2}};
  CHECK(drawn(points, {{16384, 65536}}, {.width = 40, .height = 9, .charset = Charset::utf8}) == R"(
     2 ┤                              ·●
     1 ┤               ●           ···
       │           ···· ······  ···
   0.5 ┤        ●··           ·●
       │     ···
   0.2 ┤  ···
   0.1 ┤●·
       └───────────────▲▲▲▲▲▲▲▲▲────────
        1K     4K     16K     64K   256K
)");
  CHECK(drawn(points, {{16384, 65536}}, {.width = 40, .height = 6, .charset = Charset::ascii}) == R"(
     2 +                             ..*
     1 +         ......*.......*.....
   0.2 +   .....*
   0.1 +*..
       +---------------^^^^^^^^^--------
        1K     4K     16K     64K   256K
)");
}

TEST_CASE("nothing to draw: no size, one size, and values that have no logarithm") {
  CHECK(curve_lines({}, {}, {}).empty());
  CHECK(curve_lines({{1024, 1}, {1024, 2}}, {}, {}).empty());
  CHECK(curve_lines({{0, 1}, {1024, 0}, {2048, 1}}, {}, {}).empty());
}

TEST_CASE("equal values make a flat line, and no line is wider than the frame") {
  std::vector<CurvePoint> points;
  for (int i = 0; i < 31; ++i) points.push_back({static_cast<double>(1LL << i), 3});
  for (const int width : {20, 40, 80, 160})
    for (const std::string& line : curve_lines(points, {{1, 1LL << 40}}, {width, 11, Charset::utf8}))
      CHECK(display_width(line) <= width);
}

}  // namespace gradsync
