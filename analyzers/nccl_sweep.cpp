// What a size sweep says about the fabric without a model of it: the bandwidth that large messages reach, and whether
// the results were right. Start-up costs and cliffs are another analyzer's, from the same series.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analyzers/analyzers.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr std::int64_t kLargeBytes = 64LL << 20;  // bandwidth has settled: what is left of the start-up is small

double number(const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return std::nan("");
}

std::string text(const Cell& cell) {
  const auto* words = std::get_if<std::string>(&cell);
  return words != nullptr ? *words : "";
}

// A table by the names of its columns. Missing columns read as unknown.
class Table {
 public:
  explicit Table(const Series& series) : series_(series) {}
  const Cell& at(const std::vector<Cell>& row, const char* column) const {
    static const Cell kUnknown = std::nan("");
    const auto found = std::find(series_.columns.begin(), series_.columns.end(), column);
    const auto index = static_cast<std::size_t>(found - series_.columns.begin());
    return index < row.size() ? row[index] : kUnknown;
  }

 private:
  const Series& series_;
};

struct Wrong {
  double results = 0;
  std::int64_t checked = 0;  // rows, or runs of which only the sum is known
  std::vector<std::string> where;
};

std::string place_of(const Table& table, const std::vector<Cell>& row) {
  const double bytes = number(table.at(row, "bytes"));
  std::string words = format_bytes(bytes >= 0 ? bytes : 0) + " " + text(table.at(row, "type"));
  const std::string place = text(table.at(row, "place"));
  if (place == "in") words += " in place";
  if (place == "out") words += " out of place";
  return words;
}

Wrong wrong_in(const std::string& operation, const Series& series) {
  const Table table(series);
  Wrong wrong;
  for (const auto& row : series.rows) {
    const double results = number(table.at(row, "wrong"));
    if (!std::isfinite(results)) continue;
    ++wrong.checked;
    wrong.results += results;
    if (results > 0) wrong.where.push_back(operation + " of " + place_of(table, row));
  }
  return wrong;
}

// The largest bus bandwidth of large messages, or of the largest there are. One rank has none.
void add_bandwidth(const std::string& operation, const Series& series, MetricSet& metrics) {
  const Table table(series);
  double largest = 0;
  for (const auto& row : series.rows)
    if (number(table.at(row, "busbw_gbytes_per_s")) > 0) largest = std::max(largest, number(table.at(row, "bytes")));
  const double from = std::min(largest, static_cast<double>(kLargeBytes));
  Metric metric;
  metric.name = "fabric." + operation + ".bandwidth_gbytes_per_s";
  metric.source = "nccl_tests";
  metric.n = 0;
  for (const auto& row : series.rows) {
    const double busbw = number(table.at(row, "busbw_gbytes_per_s"));
    if (!(busbw > 0) || number(table.at(row, "bytes")) < from) continue;
    metric.value = std::max(metric.value, busbw);
    ++metric.n;
  }
  if (metric.n > 0) metrics.add(metric);
}

class NcclSweep final : public Analyzer {
 public:
  std::string_view name() const override { return "nccl_sweep"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    std::map<std::string, Wrong> by_operation;
    for (const auto& [name, series] : inputs.series) {
      if (!name.starts_with("sweep.")) continue;
      conclusions.facts["sweep"] = "nccl_tests";
      const std::string operation = name.substr(6);
      by_operation[operation] = wrong_in(operation, series);
      if (operation != "unknown") add_bandwidth(operation, series, conclusions.metrics);
    }
    add_sums(inputs.series, by_operation);
    add_wrong(by_operation, conclusions);
  }

 private:
  // Versions whose rows hold an error instead of a count print one sum for the run.
  static void add_sums(const SeriesSet& all, std::map<std::string, Wrong>& by_operation) {
    const auto runs = all.find("sweep_runs");
    if (runs == all.end()) return;
    const Table table(runs->second);
    std::map<std::string, double> sums;
    for (const auto& row : runs->second.rows) {
      const double results = number(table.at(row, "out_of_bounds"));
      const std::string operation = text(table.at(row, "operation"));
      if (!(results > 0) || !by_operation.contains(operation)) continue;
      sums[operation] += results;
      Wrong& wrong = by_operation[operation];
      if (wrong.results == 0) wrong.where.push_back(operation + " in " + text(table.at(row, "source")));
    }
    for (const auto& [operation, results] : sums) {
      Wrong& wrong = by_operation[operation];
      wrong.results = std::max(wrong.results, results);
      wrong.checked = std::max<std::int64_t>(wrong.checked, 1);
    }
  }

  static void add_wrong(const std::map<std::string, Wrong>& by_operation, Conclusions& conclusions) {
    constexpr std::size_t kNamed = 4;
    Wrong all;
    for (const auto& [operation, wrong] : by_operation) {
      if (wrong.checked == 0) continue;
      all.results += wrong.results;
      all.checked += wrong.checked;
      all.where.insert(all.where.end(), wrong.where.begin(), wrong.where.end());
      if (operation != "unknown") add("fabric." + operation + ".wrong_results", wrong, conclusions.metrics);
    }
    if (all.checked == 0) return;
    add("fabric.wrong_results", all, conclusions.metrics);
    std::string where;
    for (std::size_t i = 0; i < all.where.size() && i < kNamed; ++i) where += (i > 0 ? ", " : "") + all.where[i];
    if (all.where.size() > kNamed) where += " and " + std::to_string(all.where.size() - kNamed) + " more";
    if (!where.empty()) conclusions.facts["sweep.wrong_in"] = where;
  }

  static void add(const std::string& name, const Wrong& wrong, MetricSet& metrics) {
    Metric metric;
    metric.name = name;
    metric.value = wrong.results;
    metric.n = wrong.checked;
    metric.source = "nccl_tests";
    metrics.add(metric);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_nccl_sweep() { return std::make_unique<NcclSweep>(); }

}  // namespace gradsync
