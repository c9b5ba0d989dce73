// What stands behind each number of the host: series `measured_by`, a row for every kind of metric and source, with the
// tier of that source, whether it saw everything, and what it lost. Reads the metrics of all analyzers before it.
#include <algorithm>
#include <limits>
#include <set>

#include "analyzers/analyzers.h"

namespace gradsync {
namespace {

struct Told {
  std::string_view family, source;         // "sched" of sched.delay_max_ms; empty: of any
  std::vector<std::string_view> coverage;  // the entries that tell of it, the first that there is
  std::string_view tier;                   // where the entry names none: counters of the kernel, which lose nothing
};

// In this order: the first that fits.
const std::vector<Told>& table() {
  static const std::vector<Told> all{
      {"irq", "eBPF", {"interrupt times", "scheduler"}, ""},
      {"softirq", "eBPF", {"interrupt times", "scheduler"}, ""},
      {"irq", "perf rings", {"interrupt times", "scheduler"}, ""},
      {"softirq", "perf rings", {"interrupt times", "scheduler"}, ""},
      {"usercopy", "", {"user copies"}, ""},
      {"nic", "", {"network interfaces"}, "C"},
      {"topology", "", {"topology"}, "C"},
      {"host", "", {"host /proc"}, "C"},
      {"sched", "/proc", {"host /proc"}, "C"},
      {"sched", "", {"scheduler"}, ""},
      {"irq", "/proc/interrupts", {"interrupts"}, "C"},
      {"softirq", "/proc/stat", {"interrupts"}, "C"},
      {"irq", "/proc/stat", {"interrupts"}, "C"},
      {"softnet", "", {"interrupts"}, "C"},
  };
  return all;
}

bool is_of_the_host(std::string_view family) {
  for (const std::string_view one : {"irq", "softirq", "softnet", "sched", "host", "nic", "usercopy", "topology"})
    if (family == one) return true;
  return false;
}

class MeasuredByAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "measured_by"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    std::set<std::pair<std::string, std::string>> kinds;
    for (const Metric& metric : conclusions.metrics.all())
      if (const std::string family = metric.name.substr(0, metric.name.find('.')); is_of_the_host(family))
        kinds.emplace(family, metric.source);
    if (kinds.empty()) return;
    Series& series = conclusions.series["measured_by"];
    series = {"measured_by", {"metrics", "source", "tier", "state", "lost", "says"}, {}};
    for (const auto& [family, source] : kinds) add_rows(family, source, inputs.coverage, series);
  }

 private:
  static void add_rows(const std::string& family, const std::string& source, const std::vector<Coverage>& coverage,
                       Series& series) {
    const auto told = std::find_if(table().begin(), table().end(), [&](const Told& one) {
      return one.family == family && (one.source.empty() || one.source == source);
    });
    const std::size_t before = series.rows.size();
    if (told != table().end())
      for (const std::string_view name : told->coverage) {
        for (const Coverage& entry : coverage)  // of several hosts one each
          if (entry.source == name && entry.state != CoverageState::unavailable)
            series.rows.push_back({family + ".*", source, entry.tier.empty() ? std::string(told->tier) : entry.tier,
                                   std::string(to_string(entry.state)), entry.lost, entry.reason});
        if (series.rows.size() > before) return;
      }
    // From a file that somebody brought: what it lacks is said by the coverage of that file.
    series.rows.push_back({family + ".*", source, std::string(), std::string("not known"),
                           std::numeric_limits<double>::quiet_NaN(), std::string()});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_measured_by() { return std::make_unique<MeasuredByAnalyzer>(); }

}  // namespace gradsync
