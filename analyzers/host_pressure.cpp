// What the machine as a whole gave and took, from the series `host`: stolen time, CPU quotas, pressure, packets that were
// dropped before a socket saw them. Of several machines the worst value stands for `all`.
#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr const char* kSource = "/proc";
constexpr double kFewestPeriods = 10;  // of a quota: below, a share moves by chance

class HostPressureAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "host_pressure"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    count_narrow_links(inputs, conclusions);
    const auto series = inputs.series.find("host");
    if (series == inputs.series.end()) return;
    const SeriesTable table(series->second);
    for (const auto& row : table.rows()) {
      for (const auto& [metric, column] : {std::pair{"host.steal_percent", "steal_percent"},
                                           {"host.softirq_percent", "softirq_percent"},
                                           {"host.cpu_pressure_percent", "psi_cpu_some_percent"},
                                           {"host.memory_pressure_percent", "psi_memory_full_percent"},
                                           {"host.io_pressure_percent", "psi_io_full_percent"},
                                           {"host.others_percent", "others_percent"}})
        if (const auto value = table.number(row, column)) add_worst(metric, *value, 1, conclusions);
      const double seconds = table.number(row, "interval_s").value_or(0);
      if (const auto dropped = table.number(row, "softnet_dropped"); dropped && seconds > 0)
        add_worst("host.softnet_drops_per_s", *dropped / seconds, static_cast<std::int64_t>(*dropped), conclusions);
      add_quota(table, row, conclusions);
    }
  }

 private:
  // A GPU slows its link down while it idles: of it the lanes alone count.
  static void count_narrow_links(const Inputs& inputs, Conclusions& conclusions) {
    const auto series = inputs.series.find("topology");
    if (series == inputs.series.end()) return;
    const SeriesTable table(series->second);
    std::int64_t judged = 0, narrow = 0;
    for (const auto& row : table.rows()) {
      const auto lanes = table.number(row, "lanes"), most = table.number(row, "max_lanes");
      const auto speed = table.number(row, "link_gts"), fastest = table.number(row, "max_link_gts");
      if (!lanes || !most || *lanes <= 0) continue;
      ++judged;
      const bool slow = speed && fastest && *speed < *fastest && table.text(row, "kind") != "gpu";
      narrow += *lanes < *most || slow ? 1 : 0;
    }
    if (judged > 0)
      add_value(conclusions.metrics, "topology.narrow_link_count", "all", static_cast<double>(narrow), judged, "/sys");
  }

  static bool add_worst(const char* name, double value, std::int64_t n, Conclusions& conclusions) {
    const auto known = conclusions.metrics.value(name, "all");
    if (known && *known >= value) return false;
    add_value(conclusions.metrics, name, "all", value, n, kSource);
    return true;
  }

  static void add_quota(const SeriesTable& table, const std::vector<Cell>& row, Conclusions& conclusions) {
    const auto periods = table.number(row, "quota_periods"), throttled = table.number(row, "throttled_periods");
    if (!periods || !throttled || *periods < kFewestPeriods) return;
    if (!add_worst("sched.throttled_percent", 100 * *throttled / *periods, static_cast<std::int64_t>(*periods),
                   conclusions))
      return;
    conclusions.facts["sched.quota"] = "group " + table.text(row, "quota_group") + " was throttled in " +
                                       format_count(*throttled) + " of " + format_count(*periods) + " periods, for " +
                                       format_ms(table.number(row, "throttled_ms").value_or(0)) + " in all";
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_host_pressure() { return std::make_unique<HostPressureAnalyzer>(); }

}  // namespace gradsync
