#include "analyzers/rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/base/statistics.h"

namespace gradsync {

const std::vector<std::string>& step_columns() {
  static const std::vector<std::string> columns{"rank",
                                                "step",
                                                "variant",
                                                "deep",
                                                "warm_up",
                                                "start_ns",
                                                "time_ns",
                                                "compute",
                                                "compress",
                                                "decompress",
                                                "comm",
                                                "memcpy",
                                                "host_sync",
                                                "launch",
                                                "sched_irq",
                                                "data",
                                                "idle",
                                                "forward",
                                                "backward",
                                                "optimizer",
                                                "gradient",
                                                "communicating",
                                                "communicating_beside_compute",
                                                "compressing",
                                                "compress_after_backward",
                                                "host_sync_count",
                                                "host_sync_in_hook",
                                                "first_send",
                                                "sent_bytes",
                                                "sent_after_backward_bytes",
                                                "compress_gaps",
                                                "on_device"};
  return columns;
}

namespace {

// One rank's rows after warm-up: which of them count, and by what their times are multiplied.
struct Counted {
  bool on_device = false;  // only steps with device events count
  bool deep = false;       // and all of those lie in the deep window
  double scale = 1;        // plain step ÷ the window's step, medians

  bool holds(const StepRow& row) const {
    return row[StepColumn::warm_up] == 0 && row[StepColumn::variant] == 0 &&
           (!on_device || row[StepColumn::on_device] != 0) &&
           (deep ? row[StepColumn::deep] != 0 : row[StepColumn::deep] == 0);
  }
};

std::map<std::int64_t, Counted> counted_by_rank(const Series& table) {
  std::map<std::int64_t, Counted> ranks;
  std::map<std::int64_t, std::vector<double>> plain, window;
  std::set<std::int64_t> plain_device;
  for (const auto& cells : table.rows) {
    const StepRow row(cells);
    if (row[StepColumn::warm_up] != 0 || row[StepColumn::variant] != 0) continue;
    const bool on_device = row[StepColumn::on_device] != 0, deep = row[StepColumn::deep] != 0;
    const std::int64_t rank = row[StepColumn::rank];
    ranks[rank].on_device |= on_device;
    if (on_device && !deep) plain_device.insert(rank);
    if (!deep) plain[rank].push_back(row.ms(StepColumn::time));
    if (deep && on_device) window[rank].push_back(row.ms(StepColumn::time));
  }
  for (auto& [rank, counted] : ranks) {
    counted.deep = counted.on_device && !plain_device.contains(rank);
    if (counted.deep && !plain[rank].empty()) counted.scale = *median(plain[rank]) / *median(window[rank]);
  }
  return ranks;
}

}  // namespace

std::vector<StepRow> counted_steps(const Summary& summary, int rank) {
  std::vector<StepRow> rows;
  const Series* table = summary.find(kStepTable);
  if (table == nullptr) return rows;
  const std::map<std::int64_t, Counted> by_rank = counted_by_rank(*table);
  for (const auto& cells : table->rows) {
    const StepRow row(cells);
    if (rank >= 0 && row[StepColumn::rank] != rank) continue;
    const auto counted = by_rank.find(row[StepColumn::rank]);
    if (counted != by_rank.end() && counted->second.holds(row)) rows.emplace_back(cells, counted->second.scale);
  }
  return rows;
}

double window_inflation_percent(const Summary& summary) {
  const Series* table = summary.find(kStepTable);
  double worst = 0;
  if (table != nullptr)
    for (const auto& [rank, counted] : counted_by_rank(*table))
      if (counted.deep) worst = std::max(worst, 100 * (1 / counted.scale - 1));
  return worst;
}

std::vector<StepRow> deep_steps(const Summary& summary) {
  std::vector<StepRow> rows;
  if (const Series* table = summary.find(kStepTable))
    for (const auto& cells : table->rows)
      if (const StepRow row(cells); row[StepColumn::deep] != 0 && row[StepColumn::warm_up] == 0) rows.push_back(row);
  return rows;
}

std::vector<int> ranks_in(const Summary& summary) {
  std::set<int> ranks;
  if (const Series* table = summary.find(kStepTable))
    for (const auto& cells : table->rows) ranks.insert(static_cast<int>(StepRow(cells)[StepColumn::rank]));
  return {ranks.begin(), ranks.end()};
}

std::optional<Metric> spread_metric(std::string name, std::string scope, const std::vector<double>& sample,
                                    std::string source) {
  const std::optional<Spread> spread = gradsync::spread(sample);
  if (!spread) return std::nullopt;
  Metric metric;
  metric.name = std::move(name);
  metric.scope = std::move(scope);
  metric.value = spread->p50;
  metric.n = spread->n;
  metric.p10 = spread->p10;
  metric.p50 = spread->p50;
  metric.p90 = spread->p90;
  metric.source = std::move(source);
  return metric;
}

void add_sample(MetricSet& metrics, std::string name, std::string scope, const std::vector<double>& sample,
                std::string source) {
  std::optional<Metric> metric = spread_metric(std::move(name), std::move(scope), sample, std::move(source));
  if (!metric) return;
  metric->resolution = median_resolution(sample);
  metrics.add(std::move(*metric));
}

void add_value(MetricSet& metrics, std::string name, std::string scope, double value, std::int64_t n,
               std::string source) {
  Metric metric;
  metric.name = std::move(name);
  metric.scope = std::move(scope);
  metric.value = value;
  metric.n = n;
  metric.source = std::move(source);
  metrics.add(std::move(metric));
}

std::vector<double> StepMeans::sample() const {
  std::vector<double> means;
  for (const auto& [step, sum] : sums_) means.push_back(sum.first / sum.second);
  return means;
}

void add_per_step(Conclusions& conclusions, const std::vector<StepRow>& rows, const std::string& name,
                  const std::string& source, const std::function<std::optional<double>(const StepRow&)>& value) {
  std::map<std::string, std::vector<double>> by_rank;
  StepMeans all;
  for (const StepRow& row : rows) {
    const std::optional<double> one = value(row);
    if (!one) continue;
    all.add(row[StepColumn::step], *one);
    by_rank["rank:" + std::to_string(row[StepColumn::rank])].push_back(*one);
  }
  by_rank["all"] = all.sample();
  for (const auto& [scope, sample] : by_rank)
    if (sample.size() >= kFewestSteps) add_sample(conclusions.metrics, name, scope, sample, source);
}

void add_per_step(Conclusions& conclusions, const Summary& summary, const std::string& name, const std::string& source,
                  const std::function<std::optional<double>(const StepRow&)>& value) {
  add_per_step(conclusions, counted_steps(summary), name, source, value);
}

}  // namespace gradsync
