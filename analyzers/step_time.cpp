// Step time over the counted steps, and how much slower steps inside the deep window are.
#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

constexpr std::string_view kTimes = "step_times";  // rank, step, deep, warm_up, time_ns: also for ranks without classes

class StepTimeAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "step_time"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    Series& table = summary.table(kTimes, {"rank", "step", "deep", "warm_up", "time_ns"});
    for (const StepSpan& step : rank.steps) {
      if (step.variant != 0 || step.counters) continue;
      table.rows.push_back({std::int64_t{rank.rank}, step.number, std::int64_t{step.deep}, std::int64_t{step.warm_up},
                            std::int64_t{step.end - step.start}});
    }
    summary.table("step_sources", {"rank", "source"})
        .rows.push_back({std::int64_t{rank.rank}, std::string(to_string(rank.step_source))});
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    std::map<std::string, std::vector<double>> plain;  // by rank; all: the mean over ranks, per step
    StepMeans means;
    std::vector<double> deep;
    std::int64_t warm_up = 0;
    if (const Series* table = all.find(kTimes)) {
      add_steps_series(*table, conclusions);
      for (const auto& row : table->rows) {
        const double ms = static_cast<double>(std::get<std::int64_t>(row[4])) * 1e-6;
        if (std::get<std::int64_t>(row[3]) != 0) {
          ++warm_up;
        } else if (std::get<std::int64_t>(row[2]) != 0) {
          deep.push_back(ms);
        } else {
          means.add(std::get<std::int64_t>(row[1]), ms);
          plain["rank:" + std::to_string(std::get<std::int64_t>(row[0]))].push_back(ms);
        }
      }
    }
    if (!plain.empty()) plain["all"] = means.sample();
    std::int64_t fewest = -1;
    for (const auto& [scope, sample] : plain) {
      add_sample(conclusions.metrics, "step.time_ms", scope, sample, "steps");
      const auto count = static_cast<std::int64_t>(sample.size());
      if (scope != "all") {
        add_value(conclusions.metrics, "step.count", scope, static_cast<double>(count), count, "steps");
        fewest = fewest < 0 ? count : std::min(fewest, count);
      }
    }
    add_value(conclusions.metrics, "step.count", "all", static_cast<double>(std::max<std::int64_t>(fewest, 0)), 1,
              "steps");
    conclusions.facts["steps.warm_up"] = std::to_string(warm_up) + " steps of all ranks left out as warm-up";
    if (deep.size() >= 3 && plain.contains("all")) {
      const double ratio = *median(deep) / *median(plain["all"]);
      add_value(conclusions.metrics, "window.inflation_percent", "all", 100 * (ratio - 1),
                static_cast<std::int64_t>(deep.size()), "steps");
    }
    add_source(all, conclusions);
  }

 private:
  // The contract's series `steps`, as far as it is known here. Attribution puts the one with the classes in its place,
  // where it has any.
  static void add_steps_series(const Series& times, Conclusions& conclusions) {
    Series steps{"steps", {"rank", "step", "variant", "deep", "time_ms"}, {}};
    for (const auto& row : times.rows)
      if (std::get<std::int64_t>(row[3]) == 0)
        steps.rows.push_back(
            {row[0], row[1], std::int64_t{0}, row[2], static_cast<double>(std::get<std::int64_t>(row[4])) * 1e-6});
    if (!steps.rows.empty()) conclusions.series["steps"] = std::move(steps);
  }

  static void add_source(const Summary& all, Conclusions& conclusions) {
    const Series* table = all.find("step_sources");
    if (table == nullptr) return;
    std::string& source = conclusions.facts["steps.source"];
    for (const auto& row : table->rows) {
      const std::string& one = std::get<std::string>(row[1]);
      if (source.empty() || source == "none")
        source = one;
      else if (one != source && one != "none" && !source.starts_with("mixed"))
        source = "mixed: " + source + ", " + one;
    }
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_step_time() { return std::make_unique<StepTimeAnalyzer>(); }

}  // namespace gradsync
