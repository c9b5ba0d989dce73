// What network interfaces carried per step, and signs of congestion and loss, from the series `nic` and `nic_samples`.
// Bytes per step need steps and looks inside them on one clock: a job of several hosts has no bytes per step here.
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "/sys";
constexpr double kFewestSegments = 1000;  // below, a share of retransmits moves by chance
constexpr int kFewestStepsBetween = 3;

struct StepTimes {
  std::vector<std::pair<double, double>> spans;  // of one rank, warm-up included: they carry traffic as well
  int ranks = 0;
};

StepTimes step_times(const Summary& all) {
  StepTimes times;
  const Series* table = all.find(kStepTable);
  if (table == nullptr) return times;
  times.ranks = static_cast<int>(ranks_in(all).size());
  const int first = times.ranks > 0 ? ranks_in(all).front() : 0;
  for (const auto& cells : table->rows) {
    const StepRow row(cells);
    if (row[StepColumn::rank] != first) continue;
    const auto start = static_cast<double>(row[StepColumn::start]);
    times.spans.emplace_back(start, start + static_cast<double>(row[StepColumn::time]));
  }
  std::sort(times.spans.begin(), times.spans.end());
  return times;
}

struct Look {
  double at = 0, rx = 0, tx = 0;
};

class NicPressureAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "nic_pressure"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    if (const auto series = inputs.series.find("nic"); series != inputs.series.end())
      add_rates(SeriesTable(series->second), conclusions.metrics);
    const auto samples = inputs.series.find("nic_samples");
    if (samples != inputs.series.end() && inputs.run.hosts.size() == 1)
      add_per_step_bytes(SeriesTable(samples->second), step_times(all), conclusions.metrics);
  }

 private:
  static void add_rates(const SeriesTable& table, MetricSet& metrics) {
    for (const auto& row : table.rows()) {
      const std::string device = table.text(row, "device"), scope = "device:" + device;
      const double seconds = table.number(row, "interval_s").value_or(0);
      if (seconds <= 0) continue;
      const auto rate = [&](const char* metric, std::initializer_list<const char*> columns) {
        double sum = 0;
        bool known = false;
        for (const char* column : columns)
          if (const auto value = table.number(row, column)) {
            sum += *value;
            known = true;
          }
        if (known) add_value(metrics, metric, scope, sum / seconds, static_cast<std::int64_t>(sum), kSource);
      };
      rate("nic.drops_per_s", {"rx_dropped", "tx_dropped", "missed"});
      rate("nic.retransmits_per_s", {"retransmits"});
      rate("nic.pause_per_s", {"rx_pause", "tx_pause"});
      rate("nic.cnp_per_s", {"cnp_sent", "cnp_handled"});
      rate("nic.out_of_order_per_s", {"out_of_sequence", "packet_seq_err"});
      rate("nic.rnr_nak_per_s", {"rnr_nak"});
      const auto again = table.number(row, "retransmits"), sent = table.number(row, "out_segments");
      if (again && sent && *sent >= kFewestSegments)
        add_value(metrics, "nic.retransmit_percent", scope, 100 * *again / *sent, static_cast<std::int64_t>(*sent),
                  kSource);
    }
  }

  // Between the first and the last look inside the steps.
  static void add_per_step_bytes(const SeriesTable& table, const StepTimes& steps, MetricSet& metrics) {
    if (steps.spans.empty()) return;
    std::map<std::string, std::vector<Look>> devices;
    for (const auto& row : table.rows()) {
      const Look look{table.number(row, "at_ns").value_or(0), table.number(row, "rx_bytes").value_or(0),
                      table.number(row, "tx_bytes").value_or(0)};
      if (look.at >= steps.spans.front().first && look.at <= steps.spans.back().second)
        devices[table.text(row, "device")].push_back(look);
    }
    double sent = 0;
    for (const auto& [device, looks] : devices) {
      const Look &first = looks.front(), &last = looks.back();
      const double count = steps_between(steps, first.at, last.at);
      if (count < kFewestStepsBetween || last.rx < first.rx || last.tx < first.tx) continue;
      const std::string scope = "device:" + device;
      const auto n = static_cast<std::int64_t>(count);
      add_value(metrics, "nic.rx_bytes_per_step", scope, (last.rx - first.rx) / count, n, kSource);
      add_value(metrics, "nic.tx_bytes_per_step", scope, (last.tx - first.tx) / count, n, kSource);
      sent += (last.tx - first.tx) / count;
    }
    const auto handed = metrics.value("comm.bytes_per_step", "all");
    if (sent > 0 && handed && *handed > 0)
      add_value(metrics, "nic.effective_ratio_percent", "all", 100 * *handed * steps.ranks / sent, 1, kSource);
  }

  // Parts of steps count as parts.
  static double steps_between(const StepTimes& steps, double from, double to) {
    double count = 0;
    for (const auto& [start, end] : steps.spans)
      if (end > start) count += std::max(0.0, std::min(end, to) - std::max(start, from)) / (end - start);
    return count;
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_nic_pressure() { return std::make_unique<NicPressureAnalyzer>(); }

}  // namespace gradsync
