#include "collectors/host/sched_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectors/host/budget.h"
#include "collectors/host/host.h"
#include "collectors/host/proc_sampler.h"
#include "collectors/host/ticker.h"
#include "src/hosttext/numbers.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostDropped = 0.01, kMostDifference = 15;

void append(SeriesSet& set, Series series) {
  if (series.rows.empty()) return;
  const auto [known, is_new] = set.try_emplace(series.name, series);
  if (!is_new) known->second.rows.insert(known->second.rows.end(), series.rows.begin(), series.rows.end());
}

bool sees_switches(const SchedTrace& trace) { return trace.coverage_percent("sched/sched_switch") >= kLeastCoverage; }

std::vector<ThreadWait> waits_of(const std::vector<ThreadSeen>& threads) {
  std::vector<ThreadWait> waits;
  for (const ThreadSeen& thread : threads) waits.push_back(thread.wait);
  return waits;
}

// A thread of which too many wake-ups are missing keeps its sums and loses its latencies.
std::vector<ThreadSeen> printable(std::vector<ThreadSeen> threads) {
  for (ThreadSeen& thread : threads) {
    ThreadWait& wait = thread.wait;
    if (wakeups_seen_percent({wait}) >= kLeastCoverage) continue;
    wait.p50_us = wait.p99_us = wait.max_us = wait.mean_us = kNaN;
    thread.longest_at = 0;
  }
  return threads;
}

Series preemption_series(const SchedTrace& trace, const std::vector<ThreadSeen>& threads) {
  Series series{"preemptions",
                {"thread", "longest_wake_us", "longest_wake_at_s", "count", "p50_us", "p99_us", "max_us", "max_at_s",
                 "preempted_by"},
                {}};
  const Nanoseconds began = trace.windows().front().first;
  const auto since = [began](Nanoseconds at) { return at == 0 ? kNaN : static_cast<double>(at - began) * 1e-9; };
  for (const ThreadSeen& thread : threads) {
    const ThreadWait &wait = thread.wait, &preempted = thread.preempted;
    if (wait.count + preempted.count == 0) continue;
    series.rows.push_back({wait.thread, wait.max_us, since(thread.longest_at), preempted.count, preempted.p50_us,
                           preempted.p99_us, preempted.max_us, since(thread.preempted_longest_at), wait.preempted_by});
  }
  return series;
}

// What forbids the join, in words; "" when nothing does.
std::string refusal(const SchedTrace& trace) {
  if (!sees_switches(trace) || wakeups_seen_percent(waits_of(trace.threads())) < kLeastCoverage)
    return "below 95 % no latency is reported and no wait is charged to a step";
  const auto held = static_cast<double>(trace.held_up().size()), dropped = static_cast<double>(trace.held_dropped());
  if (dropped <= kMostDropped * (held + dropped)) return "";
  return fmt::format("{:.0f} of {:.0f} single waits dropped: above 1 % no wait is charged to a step", dropped,
                     held + dropped);
}

Coverage coverage_of(const SchedTrace& trace) {
  Coverage coverage{"scheduler", trace.tier().letter, CoverageState::collected, "", "", 0};
  coverage.lost = static_cast<std::int64_t>(trace.lost());
  const double switches = trace.coverage_percent("sched/sched_switch");
  const double wakeups = wakeups_seen_percent(waits_of(trace.threads()));
  coverage.reason = fmt::format("{}, {:.1f} s: {:.2f} % of the switches, {:.1f} % of the threads' wake-ups seen",
                                trace.tier().source, trace.seconds(), switches, wakeups);
  if (trace.windows().size() > 1) coverage.reason += fmt::format(", in {} windows", trace.windows().size());
  const std::string refused = refusal(trace);
  if (!refused.empty()) {
    coverage.state = CoverageState::partial;
    coverage.reason += "; " + refused;
    if (trace.coverage_percent("") < kLeastCoverage || wakeups < kLeastCoverage)
      coverage.hint = "this kernel's rings miss what interrupts do on idle CPUs: perf sched record sees no more";
  }
  if (!trace.why_not_above().empty()) coverage.reason += "; " + trace.why_not_above();
  return coverage;
}

class SchedTraceCollector final : public Collector {
 public:
  std::string name() const override { return "scheduler trace"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    const Result<SchedTrace::Probed> probed = SchedTrace::probe(context.root);
    if (!probed) return {{name(), "B", CoverageState::unavailable, probed.error().message(), probed.error().hint, 0}};
    return {{name(), probed->letter, CoverageState::collected, probed->why_not_above, "", 0}};
  }

  Result<void> start(const CollectorContext& context, Environment&) override {
    TraceOptions options;
    options.root = context.root;
    options.ancestor = ::getpid();
    options.budget_percent = budget_percent(context);
    if (options.budget_percent <= 0) return Error{"cannot trace the scheduler", "", "--budget 0", ""};
    Result<std::unique_ptr<SchedTrace>> opened = SchedTrace::open(options);
    if (!opened) return opened.error();
    trace_ = std::move(*opened);
    return trace_->start();
  }

  void stop(const CollectorContext&, EventSink& events, RecordingParts& parts) override {
    trace_->stop();
    add_sched_parts(*trace_, parts);
    write_held_up(*trace_, events);
  }

 private:
  std::unique_ptr<SchedTrace> trace_;
};

}  // namespace

double wakeups_seen_percent(const std::vector<ThreadWait>& threads) {
  double seen = 0, unseen = 0;
  for (const ThreadWait& thread : threads) {
    seen += static_cast<double>(thread.count);
    unseen += std::isnan(thread.unseen) ? 0 : thread.unseen;
  }
  return seen + unseen > 0 ? 100 * seen / (seen + unseen) : 100;
}

void add_cross_check(const CrossCheck& check, const std::string& tier, RecordingParts& parts) {
  const std::optional<double> difference = check.difference_percent();
  if (!difference) return;
  parts.facts["sched.cross_check"] = fmt::format("{:.1f} ms of waits traced, {:.1f} ms by schedstat, of {} threads",
                                                 check.traced_ms, check.schedstat_ms, check.threads);
  if (std::abs(*difference) <= kMostDifference) return;
  parts.coverage.push_back({"scheduler cross-check", tier, CoverageState::partial,
                            fmt::format("the traced waits differ by {:.0f} % from /proc schedstat ({})", *difference,
                                        parts.facts["sched.cross_check"]),
                            "", 0});
}

void add_irq_parts(const SchedTrace& trace, RecordingParts& parts) {
  if (trace.coverage_percent("irq/") >= kLeastCoverage)
    append(parts.series, irq_series(trace.irqs(), {trace.tier().source, machine_name(), trace.seconds()}));
}

void add_sched_parts(const SchedTrace& trace, RecordingParts& parts) {
  const std::vector<ThreadSeen> threads = printable(trace.threads());
  if (sees_switches(trace)) {
    append(parts.series, sched_series(waits_of(threads), trace.tier().source));
    append(parts.series, preemption_series(trace, threads));
  }
  add_irq_parts(trace, parts);
  parts.coverage.push_back(coverage_of(trace));
  add_cross_check(trace.cross_check(), trace.tier().letter, parts);
  parts.facts["sched.trace_window_s"] =
      fmt::format("{:.6f} {:.6f}", static_cast<double>(trace.windows().front().first) * 1e-9,
                  static_cast<double>(trace.windows().back().second) * 1e-9);
  parts.facts["sched.trace_events"] = std::to_string(trace.events());
  parts.facts["sched.trace_cpu_ms"] = fmt::format("{:.0f}", static_cast<double>(trace.reader_cpu()) * 1e-6);
}

void write_held_up(const SchedTrace& trace, EventSink& events) {
  if (refusal(trace).empty()) write_stretches(trace.held_up(), "sched_trace", trace.windows(), events);
}

void write_stretches(const std::vector<HeldUp>& stretches, std::string_view trace,
                     const std::vector<std::pair<Nanoseconds, Nanoseconds>>& windows, EventSink& events) {
  Event event;
  event.source = Source::host;
  for (const HeldUp& held : stretches) {
    event.kind = held.kind;
    event.name = events.intern(held.thread);
    event.group = events.intern(held.by);
    event.sequence = static_cast<std::uint32_t>(held.tid);
    event.bytes = held.pid;
    event.correlation = static_cast<std::uint64_t>(held.cpu) + 1;
    event.start = held.start;
    event.end = held.end;
    events.event(event);
  }
  Event window;
  window.kind = Kind::window;
  window.source = Source::host;
  window.name = events.intern(trace);
  for (const auto& [start, end] : windows) {
    window.start = start;
    window.end = end;
    events.event(window);
  }
}

std::unique_ptr<Collector> make_sched_trace() { return std::make_unique<SchedTraceCollector>(); }

}  // namespace gradsync
