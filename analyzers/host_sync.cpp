// Blocking calls: how many, how many of them inside compression code, and what they cost.
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr std::string_view kExplicit = "host_sync_explicit";

class HostSyncAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "host_sync"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    std::map<std::string, std::int64_t> sites;
    write_explicit(rank, summary);
    for (const Event& event : rank.events)
      if (event.kind == Kind::host_sync)
        if (const std::string_view site = rank.text(event, "site"); !site.empty())
          sites[std::string(rank.name(event)) + " at " + std::string(site)] +=
              std::max<Nanoseconds>(event.duration(), 1);
    Series& table = summary.table("host_sync_sites", {"rank", "site", "ns"});
    for (const auto& [site, ns] : sites) table.rows.push_back({std::int64_t{rank.rank}, site, ns});
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const std::vector<StepRow> steps = counted_steps(all);
    if (steps.empty()) return;
    add_per_step(conclusions, all, "host_sync.count_per_step", "torch_hook",
                 [](const StepRow& row) { return static_cast<double>(row[StepColumn::host_sync_count]); });
    add_per_step(conclusions, all, "host_sync.in_hook_per_step", "torch_hook",
                 [](const StepRow& row) { return static_cast<double>(row[StepColumn::host_sync_in_hook]); });
    if (conclusions.metrics.find("host_sync.count_per_step", "all") != nullptr) add_explicit(all, conclusions);
    // Without a device there is nothing to leave idle: the time stays compute and the metric absent.
    if (window_inflation_percent(all) > kMostInflation) return add_worst_site(all, conclusions);
    add_per_step(conclusions, all, "host_sync.ms", "steps", [](const StepRow& row) -> std::optional<double> {
      return row[StepColumn::on_device] != 0 ? std::optional(row.ms(StepColumn::host_sync)) : std::nullopt;
    });
    add_worst_site(all, conclusions);
  }

 private:
  // The training loop's own calls that wait for the whole device; those of a hook, often a library's, are counted as
  // calls in the hook. `Kind::step` tells which steps count.
  static void write_explicit(const RankTimeline& rank, Summary& summary) {
    Series& table = summary.table(kExplicit, {"rank", "step", "count"});
    for (const StepSpan& step : rank.steps) {
      if (!step.counted()) continue;
      std::int64_t count = 0;
      const RankTimeline::Range range = rank.beginning_in(step.interval());
      for (std::size_t i = range.first; i < range.last; ++i)
        if (const Event& event = rank.events[i]; event.kind == Kind::host_sync && event.source == Source::torch_hook)
          count += !event.has(kFlagInHook) && rank.name(event) == "cuda.synchronize";
      table.rows.push_back({std::int64_t{rank.rank}, step.number, count});
    }
  }

  static void add_explicit(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find(kExplicit);
    if (table == nullptr) return;
    StepMeans means;
    for (const auto& row : table->rows)
      means.add(std::get<std::int64_t>(row[1]), static_cast<double>(std::get<std::int64_t>(row[2])));
    const std::vector<double> sample = means.sample();
    if (sample.size() >= kFewestSteps)
      add_sample(conclusions.metrics, "host_sync.explicit_per_step", "all", sample, "torch_hook");
  }

  static void add_worst_site(const Summary& all, Conclusions& conclusions) {
    if (const Series* table = all.find("host_sync_sites")) {
      std::int64_t worst = 0;
      for (const auto& row : table->rows)
        if (std::get<std::int64_t>(row[2]) > worst) {
          worst = std::get<std::int64_t>(row[2]);
          conclusions.facts["where.host_sync"] = std::get<std::string>(row[1]);
        }
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_host_sync() { return std::make_unique<HostSyncAnalyzer>(); }

}  // namespace gradsync
