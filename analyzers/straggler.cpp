// Who arrives last at the synchronisation. A rank is late against the median of the others; nothing is said when ranks
// do not share a clock. Arrival = the moment a rank has nothing left to compute before it must wait for the others.
#include <algorithm>
#include <map>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "analyzers/step_activity.h"
#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr std::string_view kReady = "ready";  // rank, step, time_ns
constexpr double kSharedClockResidualUs = 1;  // one host, one CLOCK_MONOTONIC: the stamp's own granularity

// On a device the collective's own start. The host of a GPU job runs ahead of it: when it has nothing left to issue
// says nothing about when the gradients are there.
Nanoseconds ready_time(const RankTimeline& rank, const StepActivity& seen, const GradientPath& path) {
  if (seen.on_device) {
    Nanoseconds first = 0;
    for (const Event* event : seen.collectives)
      if (event->on_stream() && (first == 0 || event->start < first)) first = event->start;
    return first;
  }
  if (rank.fact("device") == "cuda") return 0;
  const bool waits_in_backward = path.framework_syncs || path.place == Place::hook;
  if (waits_in_backward && seen.compute_end > 0) return seen.compute_end;
  Nanoseconds first = 0;
  for (const Event* event : seen.collectives)
    if (event->start >= seen.backward_start && (first == 0 || event->start < first)) first = event->start;
  return first;
}

class StragglerAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "straggler"; }

  void summarise(const RankTimeline& rank, const Inputs& inputs, Summary& summary) const override {
    const GradientPath path = find_gradient_path(rank, inputs);
    Series& table = summary.table(kReady, {"rank", "step", "time_ns"});
    // Steps that were found by repetition begin at whatever repeats on this rank: step 5 of one rank is not that of another.
    if (rank.step_source == StepSource::repetition) return;
    for (const StepSpan& step : rank.steps) {
      if (!step.counted()) continue;
      const Nanoseconds ready = ready_time(rank, observe(rank, step, path), path);
      if (ready > 0) table.rows.push_back({std::int64_t{rank.rank}, step.number, std::int64_t{ready}});
    }
  }

  void conclude(const Summary& all, const Inputs& inputs, Conclusions& conclusions) const override {
    const Series* table = all.find(kReady);
    if (table == nullptr || !inputs.one_clock) return;
    std::map<std::int64_t, std::map<std::int64_t, double>> by_step;  // step → rank → µs
    std::map<std::int64_t, std::vector<double>> late_ms;
    for (const auto& row : table->rows) {
      late_ms[std::get<std::int64_t>(row[0])];
      by_step[std::get<std::int64_t>(row[1])][std::get<std::int64_t>(row[0])] =
          static_cast<double>(std::get<std::int64_t>(row[2])) * 1e-3;
    }
    if (late_ms.size() < 2) return;
    std::map<std::int64_t, std::int64_t> last;
    std::int64_t steps = 0;
    for (const auto& [step, times] : by_step) {
      if (times.size() != late_ms.size()) continue;  // a rank that ended early or left a step out
      ++steps;
      judge_step(times, late_ms, last);
    }
    if (steps < static_cast<std::int64_t>(kFewestSteps)) return;
    add_metrics(late_ms, last, steps, conclusions);
  }

 private:
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
                          const std::map<std::int64_t, std::int64_t>& last, std::int64_t steps,
                          Conclusions& conclusions) {
    const double residual_us =
        std::max(conclusions.metrics.value("clock.residual_us", "all").value_or(0), kSharedClockResidualUs);
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
};

}  // namespace

std::unique_ptr<Analyzer> make_straggler() { return std::make_unique<StragglerAnalyzer>(); }

}  // namespace gradsync
