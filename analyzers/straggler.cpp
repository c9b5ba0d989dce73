// Who arrives last at the synchronisation. A rank is late against the median of the others. Arrival = the moment a rank
// has nothing left to compute before it must wait for the others. Three sources, the first that is there:
//   steps        of ranks that share a clock from the start, or were aligned: arrival per step, as the hook saw it
//   collectives  matched across ranks, on the common clock: for traces, and where there are hardly any steps
//   lengths      of the same collectives, where clocks cannot be compared: the shortest part is the last to arrive's
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/collective_lateness.h"
#include "analyzers/ready_times.h"
#include "analyzers/rows.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr double kSharedClockResidualUs = 1;  // one host, one CLOCK_MONOTONIC: the stamp's own granularity

// What a rank does while the others wait for it: share of its step in which it neither computes nor communicates, and
// the share of the others' steps that collectives take.
void add_what_it_does_meanwhile(const Summary& all, int rank, Conclusions& conclusions) {
  if (window_inflation_percent(all) > kMostInflation) return;
  std::vector<double> others;
  double idle = 0, time = 0;
  std::int64_t steps = 0;
  for (const int one : ranks_in(all)) {
    double comm = 0, total = 0;
    for (const StepRow& row : counted_steps(all, one)) {
      total += row.ms(StepColumn::time);
      comm += row.ms(StepColumn::comm);
      if (one != rank) continue;
      ++steps;
      for (const StepColumn column : {StepColumn::idle, StepColumn::launch, StepColumn::host_sync, StepColumn::data})
        idle += row.ms(column);
    }
    if (one == rank) time = total;
    if (one != rank && total > 0) others.push_back(100 * comm / total);
  }
  const std::string scope = "rank:" + std::to_string(rank);
  if (time > 0) add_value(conclusions.metrics, "straggler.idle_percent", scope, 100 * idle / time, steps, "steps");
  if (const auto typical = median(others))
    add_value(conclusions.metrics, "straggler.others_comm_percent", scope, *typical, steps, "steps");
}

class StragglerAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "straggler"; }

  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    summarise_lateness(rank, summary);  // of the collectives; that of the steps is in step_pass.cpp
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    const double residual_us =
        std::max(conclusions.metrics.value("clock.residual_us", "all").value_or(0), kSharedClockResidualUs);
    const auto by_collectives = lateness_by_rank(all);
    if (!inputs.one_clock || !judge_steps(all, residual_us, conclusions))
      for (const auto& [rank, groups] : by_collectives)
        add_from_collectives(rank, groups.front(), inputs.one_clock ? residual_us : 0, conclusions);
    for (const auto& [rank, groups] : by_collectives)
      add_value(conclusions.metrics, "straggler.short_collective_percent", "rank:" + std::to_string(rank),
                groups.front().shortest_percent(), groups.front().collectives, "collectives");
    add_series(by_collectives, conclusions);
    for (const int rank : ranks_in(all))
      if (conclusions.metrics.value("straggler.late_ms", "rank:" + std::to_string(rank)))
        add_what_it_does_meanwhile(all, rank, conclusions);
  }

 private:
  // False when there are not enough steps in which every rank told its arrival.
  static bool judge_steps(const Summary& all, double residual_us, Conclusions& conclusions) {
    const Series* table = all.find(kReadyTable);
    if (table == nullptr) return false;
    std::map<std::int64_t, std::map<std::int64_t, double>> by_step;  // step → rank → µs
    std::map<std::int64_t, std::vector<double>> late_ms;
    for (const auto& row : table->rows) {
      late_ms[std::get<std::int64_t>(row[0])];
      by_step[std::get<std::int64_t>(row[1])][std::get<std::int64_t>(row[0])] =
          static_cast<double>(std::get<std::int64_t>(row[2])) * 1e-3;
    }
    if (late_ms.size() < 2) return false;
    std::map<std::int64_t, std::int64_t> last;
    std::int64_t steps = 0;
    for (const auto& [step, times] : by_step) {
      if (times.size() != late_ms.size()) continue;  // a rank that ended early or left a step out
      ++steps;
      judge_step(times, late_ms, last);
    }
    if (steps < static_cast<std::int64_t>(kFewestSteps)) return false;
    add_metrics(late_ms, last, steps, residual_us, conclusions);
    return true;
  }

  static void judge_step(const std::map<std::int64_t, double>& times,
                         std::map<std::int64_t, std::vector<double>>& late_ms,
                         std::map<std::int64_t, std::int64_t>& last) {
    auto latest = times.begin();
    for (auto one = times.begin(); one != times.end(); ++one) {
      std::vector<double> others;
      for (const auto& [rank, time] : times)
        if (rank != one->first) others.push_back(time);
      late_ms[one->first].push_back((one->second - *median(others)) * 1e-3);
      if (one->second > latest->second) latest = one;
    }
    ++last[latest->first];
  }

  static void add_metrics(const std::map<std::int64_t, std::vector<double>>& late_ms,
                          const std::map<std::int64_t, std::int64_t>& last, std::int64_t steps, double residual_us,
                          Conclusions& conclusions) {
    for (const auto& [rank, sample] : late_ms) {
      const std::string scope = "rank:" + std::to_string(rank);
      const double late = *median(sample);
      add_sample(conclusions.metrics, "straggler.late_ms", scope, sample, "steps");
      const auto times_last = last.contains(rank) ? last.at(rank) : 0;
      add_value(conclusions.metrics, "straggler.last_arrival_percent", scope,
                100.0 * static_cast<double>(times_last) / static_cast<double>(steps), steps, "steps");
      add_value(conclusions.metrics, "straggler.late_over_residual", scope, late * 1000 / residual_us, steps, "steps");
      const auto step_ms = conclusions.metrics.value("step.time_ms", scope);
      if (step_ms && *step_ms > 0)
        add_value(conclusions.metrics, "straggler.late_percent", scope, 100 * late / *step_ms, steps, "steps");
    }
  }

  // `residual_us` = 0: clocks cannot be compared, and lengths told it.
  static void add_from_collectives(int rank, const CollectiveLateness& seen, double residual_us,
                                   Conclusions& conclusions) {
    const std::string scope = "rank:" + std::to_string(rank);
    const std::string source = residual_us > 0 ? "collectives" : "collectives' lengths";
    const auto steps = static_cast<std::int64_t>(seen.late_per_step_ms.size());
    if (seen.late_per_step_ms.size() >= kFewestSteps)
      add_sample(conclusions.metrics, "straggler.late_ms", scope, seen.late_per_step_ms, source);
    else
      add_value(conclusions.metrics, "straggler.late_ms", scope, seen.late_total_ms / static_cast<double>(steps), steps,
                source);
    add_value(conclusions.metrics, "straggler.last_arrival_percent", scope, seen.last_percent(), seen.collectives,
              source);
    if (seen.time_ms > 0)
      add_value(conclusions.metrics, "straggler.late_percent", scope, 100 * seen.late_total_ms / seen.time_ms, steps,
                source);
    if (residual_us > 0 && seen.last > 0)
      add_value(conclusions.metrics, "straggler.late_over_residual", scope,
                1000 * seen.late_total_ms / static_cast<double>(seen.last) / residual_us, seen.last, source);
  }

  static void add_series(const std::map<int, std::vector<CollectiveLateness>>& by_rank, Conclusions& conclusions) {
    if (by_rank.empty()) return;
    Series& series = conclusions.series["stragglers"];
    series.name = "stragglers";
    series.columns = {"rank", "group", "collectives", "last", "shortest", "late_ms", "time_ms"};
    for (const auto& [rank, groups] : by_rank)
      for (const CollectiveLateness& seen : groups)
        series.rows.push_back({std::int64_t{rank}, seen.group, seen.collectives, seen.last, seen.shortest,
                               seen.late_total_ms, seen.time_ms});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_straggler() { return std::make_unique<StragglerAnalyzer>(); }

}  // namespace gradsync
