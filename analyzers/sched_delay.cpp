// How long threads that could run waited for a CPU, from the series `sched`. Without the job's own thread ids it cannot
// tell the training's threads from others, so `all` is the worst thread; what a source cannot give is left out.
#include <algorithm>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/units.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kFewestDelays = 20;        // below, the 99 % quantile is the largest
constexpr double kLeastSeenPercent = 95;    // of wake-ups; with fewer the delays of the rest are not known
constexpr double kLeastWantedUs = 100'000;  // of a thread in `all`: what seldom runs waits longer than it runs
constexpr std::size_t kMostThreads = 32;

struct Thread {
  std::string name, source, preempted_by;
  double count = 0;
  std::optional<double> p99_us, max_us, wait_us, run_us, unseen;

  double seen_percent() const {
    const double all = count + unseen.value_or(0);
    return all > 0 ? 100 * count / all : 0;
  }
  std::optional<double> wait_share_percent() const {
    if (!wait_us || !run_us || *wait_us + *run_us <= 0) return std::nullopt;
    return 100 * *wait_us / (*wait_us + *run_us);
  }
};

// One row a thread. Of one source twice (another machine, another time) the worse; of two sources the one that knows its
// quantiles, then the one with more delays.
std::vector<Thread> threads_of(const SeriesTable& table) {
  std::map<std::string, Thread> by_name;
  for (const auto& row : table.rows()) {
    Thread thread{table.text(row, "thread"),       table.text(row, "source"),
                  table.text(row, "preempted_by"), table.number(row, "count").value_or(0),
                  table.number(row, "p99_us"),     table.number(row, "max_us"),
                  table.number(row, "wait_us"),    table.number(row, "run_us"),
                  table.number(row, "unseen")};
    const auto [known, is_new] = by_name.try_emplace(thread.name, thread);
    const Thread& kept = known->second;
    const bool better =
        thread.p99_us.has_value() != kept.p99_us.has_value() ? thread.p99_us.has_value() : thread.count > kept.count;
    if (!is_new && better) known->second = std::move(thread);
  }
  std::vector<Thread> threads;
  for (auto& [name, thread] : by_name) threads.push_back(std::move(thread));
  // The longest waits first: of more threads than have metrics, these.
  const auto weight = [](const Thread& t) { return t.wait_us.value_or(t.max_us.value_or(0)); };
  std::stable_sort(threads.begin(), threads.end(),
                   [&](const Thread& a, const Thread& b) { return weight(a) > weight(b); });
  return threads;
}

double seen_percent(const std::vector<Thread>& threads) {
  double seen = 0, all = 0;
  for (const Thread& thread : threads) {
    seen += thread.count;
    all += thread.count + thread.unseen.value_or(0);
  }
  return all > 0 ? 100 * seen / all : 0;
}

void add_thread(const Thread& thread, MetricSet& metrics) {
  const std::string scope = "thread:" + thread.name;
  const auto n = static_cast<std::int64_t>(thread.count);
  if (thread.seen_percent() >= kLeastSeenPercent) {
    if (thread.p99_us && thread.count >= kFewestDelays)
      add_value(metrics, "sched.delay_p99_ms", scope, *thread.p99_us * 1e-3, n, thread.source);
    if (thread.max_us) add_value(metrics, "sched.delay_max_ms", scope, *thread.max_us * 1e-3, n, thread.source);
  }
  if (const auto share = thread.wait_share_percent())
    add_value(metrics, "sched.wait_share_percent", scope, *share, n, thread.source);
}

// `all`: the worst thread of each quantile, the share of all busy threads together.
void add_worst(const std::vector<Thread>& threads, MetricSet& metrics, Facts& facts) {
  const Thread *p99 = nullptr, *longest = nullptr, *waiting = nullptr;
  double wait_us = 0, run_us = 0;
  std::int64_t counted = 0;
  const bool delays_known = seen_percent(threads) >= kLeastSeenPercent;
  for (const Thread& thread : threads) {
    if (delays_known && thread.p99_us && thread.count >= kFewestDelays && (!p99 || *thread.p99_us > *p99->p99_us))
      p99 = &thread;
    if (delays_known && thread.max_us && (!longest || *thread.max_us > *longest->max_us)) longest = &thread;
    if (!thread.wait_share_percent() || *thread.wait_us + *thread.run_us < kLeastWantedUs) continue;
    ++counted;
    wait_us += *thread.wait_us;
    run_us += *thread.run_us;
    if (!waiting || *thread.wait_us > *waiting->wait_us) waiting = &thread;
  }
  if (p99)
    add_value(metrics, "sched.delay_p99_ms", "all", *p99->p99_us * 1e-3, static_cast<std::int64_t>(p99->count),
              p99->source);
  if (longest) {
    add_value(metrics, "sched.delay_max_ms", "all", *longest->max_us * 1e-3, static_cast<std::int64_t>(longest->count),
              longest->source);
    facts["sched.longest_delay"] =
        longest->name + " waited " + format_ms(*longest->max_us * 1e-3) + " for a CPU, at most";
  }
  if (!waiting) return;
  add_value(metrics, "sched.wait_share_percent", "all", 100 * wait_us / (wait_us + run_us), counted, waiting->source);
  facts["sched.longest_wait"] = waiting->name + " waited " + format_ms(*waiting->wait_us * 1e-3) + " and ran " +
                                format_ms(*waiting->run_us * 1e-3) +
                                (waiting->preempted_by.empty() ? "" : ", preempted by " + waiting->preempted_by);
}

class SchedDelayAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "sched_delay"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}

  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    const auto series = inputs.series.find("sched");
    if (series == inputs.series.end() || series->second.rows.empty()) return;
    const std::vector<Thread> threads = threads_of(SeriesTable(series->second));
    for (std::size_t i = 0; i < std::min(threads.size(), kMostThreads); ++i)
      add_thread(threads[i], conclusions.metrics);
    add_worst(threads, conclusions.metrics, conclusions.facts);
    const bool counts =
        std::any_of(threads.begin(), threads.end(), [](const Thread& t) { return t.count + t.unseen.value_or(0) > 0; });
    if (!counts || seen_percent(threads) >= kLeastSeenPercent) return;  // a source of sums alone says so itself
    conclusions.coverage.push_back({"scheduler delays", "", CoverageState::partial,
                                    "the wake-ups of only " + format_percent(seen_percent(threads)) +
                                        " of the runs were seen: delays are not reported",
                                    "perf sched record -a -- sleep 10, then perf sched timehist", 0});
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_sched_delay() { return std::make_unique<SchedDelayAnalyzer>(); }

}  // namespace gradsync
