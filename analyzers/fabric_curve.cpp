// What was measured, as rows that users of nccl-tests know: quantiles over the calls of each size and bandwidths of the
// median. A log's rows pass as they are. From both the bandwidth that large messages reach, and whether results were
// right. The share of the start-up is filled in by the fit.
#include <algorithm>
#include <cmath>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_curves.h"
#include "src/base/statistics.h"
#include "src/base/units.h"
#include "src/model/series_table.h"
#include "src/model/sweep_columns.h"

namespace gradsync {
namespace {

constexpr double kLargeBytes = 64 << 20;  // bandwidth has settled: what is left of the start-up is small

// Those of the contract, what ran beside, and the median of the same calls replayed from a graph.
const std::vector<std::string>& columns() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> of_live = kSweepColumns;
    of_live.insert(of_live.end(), {"load", "graph_us"});
    return of_live;
  }();
  return all;
}

Cell whole(double value) { return std::isfinite(value) ? Cell(static_cast<std::int64_t>(value)) : Cell(kNotMeasured); }

// What the samples of a live sweep tell besides their times, by size, type and load.
struct CallTotals {
  double count = kNotMeasured, wrong = kNotMeasured;
  std::vector<double> graph_us;
};
using CallKey = std::tuple<double, std::string, std::string>;

std::map<CallKey, CallTotals> totals_of(const Series& samples) {
  std::map<CallKey, CallTotals> totals;
  const SeriesTable table(samples);
  for (const auto& row : table.rows()) {
    CallTotals& total =
        totals[{table.number(row, "bytes").value_or(0), table.text(row, "type"), table.text(row, "load")}];
    if (const auto count = table.number(row, "count")) total.count = *count;
    if (const auto wrong = table.number(row, "wrong"))
      total.wrong = (std::isfinite(total.wrong) ? total.wrong : 0) + *wrong;
    if (const auto us = table.number(row, "graph_us")) total.graph_us.push_back(*us);
  }
  return totals;
}

std::vector<Cell> live_row(const FabricCurve& curve, const SizeSample& size, const CallTotals& total) {
  const double p50 = *median(size.us);
  const double algbw = static_cast<double>(size.bytes) / p50 * 1e-3;
  return {size.bytes,
          whole(total.count),
          curve.type,
          static_cast<std::int64_t>(size.us.size()),
          *quantile(size.us, 0.1),
          p50,
          *quantile(size.us, 0.9),
          *quantile(size.us, 0.99),
          algbw,
          algbw * bus_factor(curve.operation, curve.ranks),
          whole(total.wrong),
          kNotMeasured,
          std::string(),
          curve.source,
          whole(curve.ranks),
          curve.load,
          median(total.graph_us).value_or(kNotMeasured)};
}

// Rows of logs first, then those of the live sweep, whose earlier rows (of a saved report) are made anew.
Series curve_rows(const std::string& operation, const SeriesSet& series, double ranks) {
  Series rows{"sweep." + operation, columns(), {}};
  const auto samples = series.find("sweep_samples." + operation);
  if (const auto given = series.find(rows.name); given != series.end()) {
    const SeriesTable table(given->second);
    for (const auto& row : table.rows()) {
      if (samples != series.end() && table.text(row, "source") == kLiveSource) continue;
      std::vector<Cell> cells;
      for (const std::string& column : columns()) {
        const std::string words = table.text(row, column);
        const auto at = std::find(given->second.columns.begin(), given->second.columns.end(), column);
        const auto index = static_cast<std::size_t>(at - given->second.columns.begin());
        cells.push_back(index < row.size() ? row[index] : column == "load" ? Cell(words) : Cell(kNotMeasured));
      }
      rows.rows.push_back(std::move(cells));
    }
  }
  if (samples == series.end()) return rows;
  const std::map<CallKey, CallTotals> totals = totals_of(samples->second);
  for (const FabricCurve& curve : fabric_curves({{samples->first, samples->second}}, ranks))
    for (const SizeSample& size : curve.sizes)
      rows.rows.push_back(live_row(curve, size, totals.at({static_cast<double>(size.bytes), curve.type, curve.load})));
  return rows;
}

std::string source_of(const Series& rows) {
  const SeriesTable table(rows);
  const bool live = std::any_of(rows.rows.begin(), rows.rows.end(),
                                [&](const auto& row) { return table.text(row, "source") == kLiveSource; });
  return live ? "sweep" : "nccl_tests";
}

// The largest bus bandwidth of large messages, or of the largest there are. One rank has none; what ran beside a load
// says nothing about the fabric alone.
void add_bandwidth(const std::string& operation, const Series& rows, MetricSet& metrics) {
  const SeriesTable table(rows);
  const auto busbw = [&](const auto& row) {
    const bool told = table.text(row, "load").empty() && !swept_beside_floats(table, row);
    return told ? table.number(row, "busbw_gbytes_per_s").value_or(0) : 0;
  };
  double largest = 0;
  for (const auto& row : table.rows())
    if (busbw(row) > 0) largest = std::max(largest, table.number(row, "bytes").value_or(0));
  Metric metric;
  metric.name = "fabric." + operation + ".bandwidth_gbytes_per_s";
  metric.source = source_of(rows);
  metric.n = 0;
  for (const auto& row : table.rows()) {
    if (!(busbw(row) > 0) || table.number(row, "bytes").value_or(0) < std::min(largest, kLargeBytes)) continue;
    metric.value = std::max(metric.value, busbw(row));
    ++metric.n;
  }
  if (metric.n > 0) metrics.add(metric);
}

struct Wrong {
  double results = 0;
  std::int64_t checked = 0;  // rows, or runs of which only the sum is known
  std::vector<std::string> where;
  std::string source = "nccl_tests";
};

Wrong wrong_in(const std::string& operation, const Series& rows) {
  const SeriesTable table(rows);
  Wrong wrong;
  wrong.source = source_of(rows);
  for (const auto& row : table.rows()) {
    const auto results = table.number(row, "wrong");
    if (!results) continue;
    ++wrong.checked;
    wrong.results += *results;
    if (*results <= 0) continue;
    const std::string place = table.text(row, "place");
    wrong.where.push_back(operation + " of " + format_bytes(std::max(table.number(row, "bytes").value_or(0), 0.0)) +
                          " " + table.text(row, "type") +
                          (place == "in"    ? " in place"
                           : place == "out" ? " out of place"
                                            : ""));
  }
  return wrong;
}

// Versions of nccl-tests whose rows hold an error instead of a count print one sum for the run.
void add_sums(const SeriesSet& all, std::map<std::string, Wrong>& by_operation) {
  const auto runs = all.find("sweep_runs");
  if (runs == all.end()) return;
  const SeriesTable table(runs->second);
  std::map<std::string, double> sums;
  for (const auto& row : table.rows()) {
    const double results = table.number(row, "out_of_bounds").value_or(0);
    const std::string operation = table.text(row, "operation");
    if (!(results > 0) || !by_operation.contains(operation)) continue;
    sums[operation] += results;
    Wrong& wrong = by_operation[operation];
    if (wrong.results == 0) wrong.where.push_back(operation + " in " + table.text(row, "source"));
  }
  for (const auto& [operation, results] : sums) {
    Wrong& wrong = by_operation[operation];
    wrong.results = std::max(wrong.results, results);
    wrong.checked = std::max<std::int64_t>(wrong.checked, 1);
  }
}

void add_wrong_metric(const std::string& name, const Wrong& wrong, MetricSet& metrics) {
  Metric metric;
  metric.name = name;
  metric.value = wrong.results;
  metric.n = wrong.checked;
  metric.source = wrong.source;
  metrics.add(metric);
}

void add_wrong(const std::map<std::string, Wrong>& by_operation, Conclusions& conclusions) {
  constexpr std::size_t kNamed = 4;
  Wrong all;
  for (const auto& [operation, wrong] : by_operation) {
    if (wrong.checked == 0) continue;
    all.results += wrong.results;
    all.checked += wrong.checked;
    all.source = wrong.source;
    all.where.insert(all.where.end(), wrong.where.begin(), wrong.where.end());
    if (operation != "unknown") add_wrong_metric("fabric." + operation + ".wrong_results", wrong, conclusions.metrics);
  }
  if (all.checked == 0) return;
  add_wrong_metric("fabric.wrong_results", all, conclusions.metrics);
  std::string where;
  for (std::size_t i = 0; i < all.where.size() && i < kNamed; ++i) where += (i > 0 ? ", " : "") + all.where[i];
  if (all.where.size() > kNamed) where += " and " + std::to_string(all.where.size() - kNamed) + " more";
  if (!where.empty()) conclusions.facts["sweep.wrong_in"] = where;
}

class FabricCurveAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "fabric_curve"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    std::map<std::string, Wrong> by_operation;
    for (const auto& [name, series] : inputs.series) {
      const bool live = name.starts_with("sweep_samples.");
      if (!live && !name.starts_with("sweep.")) continue;
      const std::string operation = name.substr(name.find('.') + 1);
      Series rows = curve_rows(operation, inputs.series, live_ranks(inputs));
      conclusions.facts["sweep"] = live || conclusions.facts["sweep"] == "live" ? "live" : "nccl_tests";
      by_operation[operation] = wrong_in(operation, rows);
      if (operation != "unknown") add_bandwidth(operation, rows, conclusions.metrics);
      conclusions.series[rows.name] = std::move(rows);
    }
    add_sums(inputs.series, by_operation);
    add_wrong(by_operation, conclusions);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_fabric_curve() { return std::make_unique<FabricCurveAnalyzer>(); }

}  // namespace gradsync
