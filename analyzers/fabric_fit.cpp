// The fit of every curve: start-up and price per byte in segments of sizes, and with them the share of the start-up in
// each row of the sweep. Curves beside a load are fitted apart and stand for nothing else.
#include <algorithm>
#include <cmath>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/fabric_curves.h"
#include "analyzers/find_cliffs.h"
#include "analyzers/fit_curve.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kMiB = 1 << 20;

const std::vector<std::string> kColumns{
    "operation",       "type",         "load",       "from_bytes",     "to_bytes",       "alpha_us",
    "alpha_p05",       "alpha_p95",    "us_per_mib", "us_per_mib_p05", "us_per_mib_p95", "bandwidth_gbytes_per_s",
    "half_size_bytes", "mape_percent", "n",          "source",         "ranks",          "location"};

struct Fitted {
  FabricCurve curve;
  CurveFit fit;
  std::vector<SizeSample> stable;  // of the curve's: without those that jump
};

std::vector<Cell> row_of(const Fitted& fitted, const SegmentFit& segment) {
  const FabricCurve& curve = fitted.curve;
  const Estimate &alpha = segment.alpha_us, &beta = segment.beta_us_per_byte;
  return {curve.operation,
          curve.type,
          curve.load,
          segment.from_bytes,
          segment.to_bytes,
          alpha.value,
          alpha.p05,
          alpha.p95,
          beta.value * kMiB,
          beta.p05 * kMiB,
          beta.p95 * kMiB,
          beta.value > 0 ? 1e-3 / beta.value : kNotMeasured,
          beta.value > 0 ? alpha.value / beta.value : kNotMeasured,
          fitted.fit.mape_percent,
          fitted.fit.n,
          curve.source,
          std::isfinite(curve.ranks) ? Cell(static_cast<std::int64_t>(curve.ranks)) : Cell(kNotMeasured),
          fitted.fit.location};
}

std::vector<FabricSegment> segments_of(const CurveFit& fit) {
  std::vector<FabricSegment> segments;
  for (const SegmentFit& segment : fit.segments)
    segments.push_back({segment.from_bytes, segment.to_bytes, segment.alpha_us.value, segment.beta_us_per_byte.value});
  return segments;
}

// Without what is unstable. A log's few times are held against the fit.
std::vector<SizeSample> stable_sizes(const FabricCurve& curve) {
  std::vector<std::size_t> jumps = curve.live() ? jumping_sizes(curve.sizes) : std::vector<std::size_t>();
  std::erase_if(jumps, [&](std::size_t i) { return curve.sizes[i].us.size() < kFewestRepeats; });
  if (jumps.size() < 2) return curve.sizes;
  std::vector<SizeSample> stable;
  for (std::size_t i = 0; i < curve.sizes.size(); ++i)
    if (std::find(jumps.begin(), jumps.end(), i) == jumps.end()) stable.push_back(curve.sizes[i]);
  return stable;
}

// Where a size jumps, its median depends on when the sweep asked; what the fabric can do (p10) does not.
std::optional<CurveFit> fit_of(const FabricCurve& curve, const std::vector<SizeSample>& stable) {
  const std::optional<CurveFit> fit = fit_curve(curve.sizes);
  return fit && fit->location == "p50" && stable.size() < curve.sizes.size() ? fit_curve(stable) : fit;
}

void fill_shares(const Fitted& fitted, Series& rows) {
  if (fitted.fit.mape_percent > kMostMapePercent) return;
  const SeriesTable table(rows);
  const auto column = static_cast<std::size_t>(
      std::find(rows.columns.begin(), rows.columns.end(), "startup_share_percent") - rows.columns.begin());
  const FabricFit fit{"", "", 0, {{fitted.curve.operation, segments_of(fitted.fit)}}};
  for (auto& row : rows.rows) {
    if (table.text(row, "type") != fitted.curve.type || table.text(row, "load") != fitted.curve.load ||
        table.text(row, "source") != fitted.curve.source)
      continue;
    const double bytes = table.number(row, "bytes").value_or(0);
    const bool told = std::any_of(fitted.stable.begin(), fitted.stable.end(),
                                  [&](const SizeSample& size) { return static_cast<double>(size.bytes) == bytes; });
    if (const auto cost = fabric_cost(fit, fitted.curve.operation, bytes); cost && told)
      row[column] = 100 * cost->startup_share();
  }
}

// The smallest size at which the start-up is at most half of the time. Absent when it stays above within the sweep, and
// when the sweep begins so far above that it says little about the start-up (more than four times).
std::optional<double> half_size(const std::vector<FabricSegment>& segments) {
  for (const FabricSegment& segment : segments) {
    if (segment.beta_us_per_byte <= 0) continue;
    const double half = segment.alpha_us / segment.beta_us_per_byte;
    const auto from = static_cast<double>(segment.from_bytes);
    if (half > static_cast<double>(segment.to_bytes)) continue;
    if (&segment != &segments.front()) return std::max(half, from);
    return 4 * half >= from ? std::optional(half) : std::nullopt;
  }
  return std::nullopt;
}

bool shows_startup(const FabricSegment& smallest) {
  return 4 * smallest.alpha_us >= smallest.beta_us_per_byte * static_cast<double>(smallest.from_bytes);
}

void add_metrics(const FabricFit& fit, const SeriesSet& series, MetricSet& metrics) {
  const SeriesTable table(series.at("fabric_fit"));
  for (const auto& [operation, segments] : fit.operations) {
    Metric metric;
    metric.name = "fabric." + operation + ".alpha_us";
    metric.value = segments.front().alpha_us;
    for (const auto& row : table.rows())
      if (table.text(row, "operation") == operation && table.text(row, "load").empty() &&
          table.number(row, "alpha_us") == metric.value) {
        metric.n = static_cast<std::int64_t>(table.number(row, "n").value_or(1));
        metric.source = table.text(row, "source") == kLiveSource ? "sweep" : "nccl_tests";
      }
    if (shows_startup(segments.front())) metrics.add(metric);
    const std::optional<double> half = half_size(segments);
    if (!half) continue;
    metric.name = "fabric." + operation + ".half_size_bytes";
    metric.value = *half;
    metrics.add(metric);
  }
}

class FabricFitAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "fabric_fit"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    Series series{"fabric_fit", kColumns, {}};
    for (const FabricCurve& curve : joined_places(fabric_curves(inputs.series, live_ranks(inputs)))) {
      const std::vector<SizeSample> stable = stable_sizes(curve);
      const std::optional<CurveFit> fit = fit_of(curve, stable);
      if (!fit) continue;
      const Fitted fitted{curve, *fit, stable};
      for (const SegmentFit& segment : fit->segments) series.rows.push_back(row_of(fitted, segment));
      if (const auto rows = conclusions.series.find("sweep." + curve.operation); rows != conclusions.series.end())
        fill_shares(fitted, rows->second);
    }
    if (series.rows.empty()) return;
    conclusions.series["fabric_fit"] = std::move(series);
    if (const auto fit = fabric_fit_of(conclusions.series)) add_metrics(*fit, conclusions.series, conclusions.metrics);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_fabric_fit() { return std::make_unique<FabricFitAnalyzer>(); }

}  // namespace gradsync
