#include "analyzers/rows.h"

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
                                                "on_device"};
  return columns;
}

std::vector<StepRow> counted_steps(const Summary& summary, int rank) {
  std::vector<StepRow> rows;
  const Series* table = summary.find(kStepTable);
  if (table == nullptr) return rows;
  for (const auto& cells : table->rows) {
    const StepRow row(cells);
    if (row.counted() && (rank < 0 || row[StepColumn::rank] == rank)) rows.push_back(row);
  }
  return rows;
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

void add_sample(MetricSet& metrics, std::string name, std::string scope, const std::vector<double>& sample,
                std::string source) {
  const std::optional<Spread> spread = gradsync::spread(sample);
  if (!spread) return;
  Metric metric;
  metric.name = std::move(name);
  metric.scope = std::move(scope);
  metric.value = spread->p50;
  metric.n = spread->n;
  metric.p10 = spread->p10;
  metric.p50 = spread->p50;
  metric.p90 = spread->p90;
  metric.source = std::move(source);
  metric.resolution = median_resolution(sample);
  metrics.add(std::move(metric));
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
