// A curve on a grid of characters, both axes logarithmic. Pure: it knows no series.
//
//   2 ┤            ●●···●
//   1 ┤         ●··
// 0.5 ┤      ●··      ●●
//     └──────────────▲▲──
//      1K    4K   16K           ▲ marks a span of sizes
#pragma once

#include <string>
#include <vector>

#include "src/report/terminal.h"

namespace gradsync {

struct CurvePoint {
  double x = 0, y = 0;  // both above 0, else it is left out
};

struct CurveMark {
  double from = 0, to = 0;  // on the axis of x
};

struct CurveFrame {
  int width = 72, height = 9;  // of all, the axis with its labels included
  Charset charset = Charset::utf8;
};

// Lines from top to bottom, none wider than the frame. Empty where fewer than two sizes are known.
std::vector<std::string> curve_lines(std::vector<CurvePoint> points, const std::vector<CurveMark>& marks,
                                     const CurveFrame& frame);

}  // namespace gradsync
