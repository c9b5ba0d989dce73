// The curves of a fabric: what sweeps and logs of nccl-tests measured, as one list of times for each size.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "src/model/inputs.h"
#include "src/model/series_table.h"

namespace gradsync {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::string_view kLiveSource = "sweep";
inline constexpr std::size_t kFewestRepeats = 7;  // fewer times for a size are a log's: they have no distribution

struct SizeSample {
  std::int64_t bytes = 0;
  std::vector<double> us;  // one for each call of a live sweep; of a log one for each row
};

// Sizes ascend. Loaded and unloaded samples, element types, and the runs of a log are curves of their own.
struct FabricCurve {
  std::string operation, type, load, source, place;
  double ranks = kNotMeasured;
  std::vector<SizeSample> sizes;

  bool live() const { return source == kLiveSource; }
  std::size_t fewest_repeats() const;
};

// From sweep_samples.<op>, and from the rows of sweep.<op> that no samples stand behind. In-place and out-of-place
// results of a log are two curves.
std::vector<FabricCurve> fabric_curves(const SeriesSet& series, double live_ranks);

// Without the live curves of other types that were swept beside floats (of fewer sizes, seldom): they are there to
// be priced by, and what is said of the fabric is said of floats.
std::vector<FabricCurve> judged_curves(std::vector<FabricCurve> curves);
// Whether a row of sweep.<op> belongs to such a curve.
bool swept_beside_floats(const SeriesTable& table, const std::vector<Cell>& row);

// The two places of a run as one curve.
std::vector<FabricCurve> joined_places(const std::vector<FabricCurve>& curves);

// Ranks of the live sweep, by its facts; NaN when it does not say.
double live_ranks(const Inputs& inputs);
double fact_number(const Facts& facts, const std::string& name);  // NaN when absent or no number

// Bus bandwidth over algorithm bandwidth, as nccl-tests defines it (doc/PERFORMANCE.md there): the share of the data
// that has to cross each rank's link, so that the number can be held against the link's speed. NaN for an operation
// that has no definition.
double bus_factor(const std::string& operation, double ranks);

}  // namespace gradsync
