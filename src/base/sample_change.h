// How far a second sample lies from a first: for observations that know nothing of each other, and for rows of steps,
// each of which resembles the one before. Pure; exact rank statistics (rank_test.h).
//
//   steps    x x x x|x x x x|x x x x|x x      neighbours resemble each other: 14 steps are not 14 observations
//   blocks      m       m       m             medians of blocks that are long enough not to
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "src/base/rank_test.h"

namespace gradsync {

// Below four observations a side the exact two-sided test cannot come below 5 %.
inline constexpr std::size_t kFewestUnits = 4;

struct SampleChange {
  Shift shift;                        // after - before: Hodges-Lehmann with its 90 % interval
  double p = 1;                       // two-sided Mann-Whitney
  std::size_t before = 0, after = 0;  // observations that were tested
};

// Nothing below kFewestUnits on either side. At most 64 of each side are taken, evenly spread.
std::optional<SampleChange> sample_change(std::span<const double> before, std::span<const double> after);

// How many consecutive values make a block whose median says next to nothing about the next one's: by the correlation
// of neighbours' ranks, which outliers do not move. At least 4, so that single outliers do not count.
std::size_t block_length(std::span<const double> in_order);

// Medians of consecutive blocks of `length`; what is left over at the beginning is left out.
std::vector<double> block_medians(std::span<const double> in_order, std::size_t length);

// The change between two rows of steps, both cut into blocks of the longer of their block lengths. Says nothing about
// what would differ between two runs of the same job: each row is of one run.
struct RowChange {
  SampleChange change;
  std::size_t block = 0;  // steps
};
std::optional<RowChange> row_change(std::span<const double> before, std::span<const double> after);

}  // namespace gradsync
