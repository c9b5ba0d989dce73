// Is there a size from which a byte costs more than before? Pure.
//
// Under any alpha-beta cost, even in pieces as long as the library picks the faster one, bandwidth never falls as
// messages grow. So every pair of sizes at most three apart is tested for a larger cost per byte at the larger size: a
// one-sided exact Mann-Whitney test on the repeats, Holm's adjustment over all pairs, Hodges-Lehmann's shift of the
// logarithm as the drop. A cliff is a proved drop of at least 10 %.
//
// The family's level is 0.2 %, not the usual 5 %: on a saturated curve with noise of 8 to 15 % one sweep in thirty would
// be called a cliff at 5 %, while the power that is lost is small (benchmarks/cliff_power.cpp prints both).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzers/fabric_curves.h"

namespace gradsync {

inline constexpr double kLeastDrop = 0.10;
inline constexpr double kFamilyLevel = 0.002;  // at ten repeats; less where more were needed

struct Cliff {
  std::size_t before = 0, at = 0;               // indices of sizes: the last good one, the first bad one
  std::size_t last = 0;                         // the last size before the cost per byte is back where it was
  double drop = 0, drop_p05 = 0, drop_p95 = 0;  // shares of the bandwidth
  double p_value = 1;                           // adjusted
  std::int64_t n = 0;                           // repeats of both sizes
};

struct CliffSearch {
  std::vector<Cliff> proved;
  std::vector<Cliff> open;            // estimated at 10 % or more and by itself significant (5 %), but not proved
  std::size_t pairs = 0;              // that were tested
  std::vector<double> visible;        // for each size but the first: the drop there that would have been proved with
                                      // a probability of 0.9 with these repeats and this noise; 1: none
  std::vector<std::size_t> unstable;  // sizes whose own repeats jump four-fold: no order of calls tells why
  double smallest_visible() const;    // the worst of them: what "no cliff" means
};

// Sizes whose own calls jump four-fold between the quartiles; where two do, nothing is told from them.
std::vector<std::size_t> jumping_sizes(const std::vector<SizeSample>& sizes);

// For sizes with at least seven repeats; fewer than nine can never be significant after Holm's adjustment.
CliffSearch test_for_cliffs(const std::vector<SizeSample>& sizes);  // all but `visible`
CliffSearch find_cliffs(const std::vector<SizeSample>& sizes);

// A drop that takes half the bandwidth must be seen before "no cliff" is an answer.
inline constexpr double kMustBeVisible = 0.50;
// Sizes whose pairs are undecided: neither proved, nor small enough to be excluded. Empty: the answer is there.
std::vector<std::int64_t> sizes_to_repeat(const std::vector<SizeSample>& sizes);

// The same for the series sweep_samples.<op> of a sweep that still runs: operation → bytes, of what is judged, without
// what ran beside a load.
std::map<std::string, std::vector<std::int64_t>> undecided_sizes(const SeriesSet& samples);

}  // namespace gradsync
