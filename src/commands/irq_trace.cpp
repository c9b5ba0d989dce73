#include "src/commands/irq_trace.h"

#include <fmt/format.h>

#include "collectors/host/sched_parts.h"

namespace gradsync {
namespace {

constexpr double kFewestInterrupts = 1000;  // below, the ends of the window decide

}  // namespace

TierChoice tier_choice(const std::string& tier) {
  return tier == "A" ? TierChoice::bpf : tier == "B" ? TierChoice::rings : TierChoice::best;
}

IrqTrace::IrqTrace(const std::string& tier) {
  if (tier == "C") return;
  TraceOptions options;
  options.tier = tier_choice(tier);
  options.subject = TraceSubject::interrupts;
  Result<std::unique_ptr<SchedTrace>> opened = SchedTrace::open(options);
  if (!opened) {
    refused_ = opened.error();
  } else if (const Result<void> started = (*opened)->start(); !started) {
    refused_ = started.error();
  } else {
    trace_ = std::move(*opened);
  }
}

RecordingParts IrqTrace::finish(const IrqRates& counted) {
  RecordingParts parts;
  Coverage coverage{"interrupt times", "B", CoverageState::unavailable, refused_.message(), refused_.hint, 0};
  if (trace_) {
    trace_->stop();
    double came = 0, timed = 0;
    for (const auto& [irq, by_cpu] : counted.count)
      for (const auto& [cpu, count] : by_cpu) came += count;
    for (const IrqTime& time : trace_->irqs()) timed += time.soft ? 0 : static_cast<double>(time.count);
    const bool enough = came < kFewestInterrupts || 100 * timed >= kLeastCoverage * came;
    if (enough) add_irq_parts(*trace_, parts);
    coverage = {"interrupt times",
                trace_->tier().letter,
                CoverageState::collected,
                "",
                "",
                static_cast<std::int64_t>(trace_->lost())};
    coverage.reason = fmt::format("{}, {:.1f} s: {:.0f} interrupts timed, {:.0f} counted by /proc/interrupts",
                                  trace_->tier().source, trace_->seconds(), timed, came);
    if (parts.series.empty() && (!enough || trace_->coverage_percent("irq/") < kLeastCoverage)) {
      coverage.state = CoverageState::partial;
      coverage.reason += "; below 95 % no time is reported";
      coverage.hint = "this kernel's rings miss interrupts of idle CPUs; eBPF does not";
    }
    if (!trace_->why_not_above().empty()) coverage.reason += "; " + trace_->why_not_above();
  }
  parts.coverage.push_back(std::move(coverage));
  return parts;
}

}  // namespace gradsync
