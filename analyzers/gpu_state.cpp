// What held the job's GPUs back, from the series `gpu` and `gpu_samples`: clocks, power, heat, a link below its maximum,
// memory errors, faults that the driver reported, and other jobs on the same GPU. GPUs that the job does not compute on
// are left out; where that is not known (another pid namespace) all are kept.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "NVML";
constexpr double kFewestLooks = 5;  // at which the GPU worked; below, a share moves by chance

// NVIDIA's list of Xid errors, in few words; the numbers that a training job meets.
const char* word_of_xid(int number) {
  static const std::map<int, const char*> kWords{{13, "exception in a kernel"},
                                                 {31, "access to memory that is not mapped"},
                                                 {43, "a process's channel was stopped"},
                                                 {45, "channels cleaned up"},
                                                 {48, "double-bit memory error"},
                                                 {62, "microcontroller halted"},
                                                 {63, "memory row remapped"},
                                                 {64, "memory row could not be remapped"},
                                                 {74, "NVLink error"},
                                                 {79, "the GPU has fallen off the bus"},
                                                 {94, "contained memory error"},
                                                 {95, "uncontained memory error"},
                                                 {119, "the GPU's system processor does not answer"},
                                                 {120, "error in the GPU's system processor"}};
  const auto found = kWords.find(number);
  return found == kWords.end() ? "" : found->second;
}

using Row = std::vector<Cell>;

class GpuStateAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "gpu_state"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const auto series = inputs.series.find("gpu");
    if (series == inputs.series.end()) return;
    const SeriesTable table(series->second);
    std::set<std::string> machines;
    for (const Row& row : table.rows()) machines.insert(table.text(row, "machine"));
    const auto samples = inputs.series.find("gpu_samples");
    std::vector<std::string> xids, others;
    for (const Row& row : table.rows()) {
      if (table.number(row, "of_job") == 0.0) continue;
      const std::string device = table.text(row, "device"), machine = table.text(row, "machine");
      const std::string name = machines.size() > 1 ? machine + "/" + device : device, scope = "device:" + name;
      add_shares(table, row, scope, conclusions.metrics);
      add_links(table, row, scope, conclusions.metrics);
      add_counts(table, row, scope, conclusions.metrics);
      if (samples != inputs.series.end())
        add_samples(SeriesTable(samples->second), {machine, device}, table.number(row, "max_sm_mhz"), scope,
                    conclusions.metrics);
      const std::string numbers = table.text(row, "xid_numbers");
      for (const std::string_view number : split_words(numbers))
        xids.push_back(name + ": " + xid_text(std::string(number)));
      if (const std::string pids = table.text(row, "other_pids"); !pids.empty())
        others.push_back(name + ": process " + pids);
    }
    if (!xids.empty()) conclusions.facts["gpu.xids"] = join(xids, "; ");
    if (!others.empty()) conclusions.facts["gpu.others"] = join(others, "; ");
  }

 private:
  static std::string xid_text(const std::string& number) {
    const std::string word = word_of_xid(std::atoi(number.c_str()));
    return "Xid " + number + (word.empty() ? "" : " (" + word + ")");
  }

  static void add_shares(const SeriesTable& table, const Row& row, const std::string& scope, MetricSet& metrics) {
    const double looks = table.number(row, "told_looks").value_or(0);
    if (looks < kFewestLooks) return;
    for (const auto& [metric, column] : {std::pair{"gpu.clock_throttled_percent", "throttled"},
                                         {"gpu.power_capped_percent", "power_capped"},
                                         {"gpu.thermal_slowdown_percent", "thermal"},
                                         {"gpu.hw_slowdown_percent", "hw_slowdown"},
                                         {"gpu.sync_boost_percent", "sync_boost"}})
      if (const auto count = table.number(row, column))
        add_value(metrics, metric, scope, 100 * *count / looks, static_cast<std::int64_t>(looks), kSource);
  }

  // A lane carries twice the bytes of the generation before it (2, 4, 7.9, 15.8, … Gbit/s behind the line code).
  static void add_links(const SeriesTable& table, const Row& row, const std::string& scope, MetricSet& metrics) {
    const auto generation = table.number(row, "pcie_generation"), newest = table.number(row, "max_pcie_generation");
    const auto lanes = table.number(row, "pcie_lanes"), most = table.number(row, "max_pcie_lanes");
    const double looks = table.number(row, "busy_looks").value_or(0),
                 seconds = table.number(row, "interval_s").value_or(0);
    if (generation && newest && lanes && most && *most > 0 && looks >= kFewestLooks)
      add_value(metrics, "gpu.pcie_link_percent", scope, 100 * std::exp2(*generation - *newest) * *lanes / *most,
                static_cast<std::int64_t>(looks), kSource);
    for (const auto& [metric, column] :
         {std::pair{"gpu.pcie_gbytes_per_s", "pcie_bytes"}, {"gpu.nvlink_gbytes_per_s", "nvlink_bytes"}})
      if (const auto bytes = table.number(row, column); bytes && seconds > 0)
        add_value(metrics, metric, scope, 1e-9 * *bytes / seconds, static_cast<std::int64_t>(looks), kSource);
    const auto up = table.number(row, "nvlinks_active"), has = table.number(row, "nvlinks");
    if (up && has) add_value(metrics, "gpu.nvlinks_down", scope, *has - *up, static_cast<std::int64_t>(*has), kSource);
  }

  static void add_counts(const SeriesTable& table, const Row& row, const std::string& scope, MetricSet& metrics) {
    for (const auto& [metric, column] : {std::pair{"gpu.ecc_uncorrected", "ecc_uncorrected"},
                                         {"gpu.ecc_uncorrected_new", "ecc_new"},
                                         {"gpu.xid_count", "xids"},
                                         {"gpu.foreign_process_count", "other_processes"}})
      if (const auto count = table.number(row, column))
        add_value(metrics, metric, scope, *count, static_cast<std::int64_t>(table.number(row, "looks").value_or(1)),
                  kSource);
    const auto used = table.number(row, "memory_used_bytes"), total = table.number(row, "memory_total_bytes");
    if (used && total && *total > 0)
      add_value(metrics, "gpu.memory_used_percent", scope, 100 * *used / *total, 1, kSource);
  }

  // Of the looks at which it worked.
  static void add_samples(const SeriesTable& samples, const std::pair<std::string, std::string>& gpu,
                          const std::optional<double>& max_mhz, const std::string& scope, MetricSet& metrics) {
    std::vector<double> clocks, shares, watts, degrees;
    for (const Row& row : samples.rows()) {
      if (samples.text(row, "machine") != gpu.first || samples.text(row, "device") != gpu.second) continue;
      if (samples.number(row, "busy") != 1.0) continue;
      if (const auto mhz = samples.number(row, "sm_mhz")) {
        clocks.push_back(1e6 * *mhz);
        if (max_mhz && *max_mhz > 0) shares.push_back(100 * *mhz / *max_mhz);
      }
      if (const auto power = samples.number(row, "power_w")) watts.push_back(*power);
      if (const auto heat = samples.number(row, "temperature_c")) degrees.push_back(*heat);
    }
    const auto add = [&](const char* metric, const std::vector<double>& sample) {
      if (static_cast<double>(sample.size()) >= kFewestLooks) add_sample(metrics, metric, scope, sample, kSource);
    };
    add("gpu.sm_clock_hz", clocks);
    add("gpu.sm_clock_percent", shares);
    add("gpu.power_w", watts);
    add("gpu.temperature_c", degrees);
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_gpu_state() { return std::make_unique<GpuStateAnalyzer>(); }

}  // namespace gradsync
