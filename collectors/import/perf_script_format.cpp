#include <algorithm>

#include "collectors/import/host_lines.h"
#include "collectors/import/perf_format.h"
#include "src/hosttext/perf_script_line.h"
#include "src/hosttext/series.h"

namespace gradsync {
namespace {

constexpr int kLookLines = 4096;  // a header of many CPUs, and the call chains of the first events

// What one script holds.
struct Script {
  ThreadWaits waits;
  IrqTimes irqs;
  Nanoseconds first = 0, last = 0;
  std::int64_t switches = 0, wakeups = 0, interrupts = 0, unknown_fields = 0, lost = 0;
};

void add(const ScriptLine& line, Script& script) {
  if (script.first == 0) script.first = line.at;
  script.last = std::max(script.last, line.at);
  if (line.fields_unknown) ++script.unknown_fields;
  switch (line.kind) {
    case Tracepoint::sched_switch:
      ++script.switches;
      return script.waits.switched(line.at, line.change);
    case Tracepoint::wakeup:
      ++script.wakeups;
      return script.waits.wakeup(line.at, line.tid, line.name);
    case Tracepoint::irq_entry:
      ++script.interrupts;
      return script.irqs.hard_entry(line.at, line.cpu, line.irq, line.name);
    case Tracepoint::irq_exit:
      return script.irqs.hard_exit(line.at, line.cpu, line.irq);
    case Tracepoint::softirq_entry:
      ++script.interrupts;
      return script.irqs.soft_entry(line.at, line.cpu, line.irq);
    case Tracepoint::softirq_exit:
      return script.irqs.soft_exit(line.at, line.cpu, line.irq);
    case Tracepoint::other:
      return;
  }
}

void describe_loss(const Script& script, Coverage& coverage) {
  if (script.lost > 0) add_reason(coverage, "perf lost events", script.lost);
  if (script.unknown_fields > 0) add_reason(coverage, "events whose fields cannot be read", script.unknown_fields);
  if (script.waits.disordered() > 0) add_reason(coverage, "events out of the order of time", script.waits.disordered());
  if (script.waits.dropped() > 0) add_reason(coverage, "more threads or waits than are kept", script.waits.dropped());
  const std::int64_t cut = script.waits.edges() + script.waits.unfinished() + script.irqs.unpaired();
  if (cut > 0)
    add_reason(coverage,
               "left out: " + std::to_string(cut) + " waits and interrupts of which one end is not in the text");
  if (script.waits.gaps() > 0)
    add_reason(coverage, "context switches are missing before " + std::to_string(script.waits.gaps()) +
                             " others: run times of their threads are not known");
  if (script.waits.unseen() > 0)
    add_reason(coverage, std::to_string(script.waits.unseen()) + " of " +
                             std::to_string(script.waits.unseen() + script.waits.paired()) +
                             " runs after a sleep have no wake-up in the text: their delays are not known");
  if (script.interrupts > 0)
    add_reason(coverage,
               "perf may lose interrupts that hit an idle CPU and does not count them: their times are lower bounds");
}

}  // namespace

bool is_perf_script(std::string_view head) {
  FirstLines lines(head, kLookLines);
  while (const auto text = lines.next()) {
    const auto line = parse_script_line(*text);
    if (line && (line->event.starts_with("sched:") || line->event.starts_with("irq:"))) return true;
  }
  return false;
}

Result<Imported> import_perf_script(const ImportRequest& request, EventSink&) {
  Result<HostLines> lines = HostLines::open(request.path);
  if (!lines) return lines.error();
  Script script;
  while (const auto text = lines->next()) {
    if (const auto line = parse_script_line(*text))
      add(*line, script);
    else if (const auto lost = lost_by_perf(*text))
      script.lost += std::min(*lost, std::int64_t{1} << 40);
  }
  if (script.switches == 0 && script.interrupts == 0)
    return Error{"cannot be used", request.path.string(),
                 "neither context switches nor interrupts are in this output of perf script",
                 "perf record -a -e sched:sched_switch -e sched:sched_waking -e irq:irq_handler_entry -e "
                 "irq:irq_handler_exit -e irq:softirq_entry -e irq:softirq_exit -- sleep 10",
                 3};
  Imported imported;
  imported.coverage = lines->coverage();
  describe_loss(script, imported.coverage);
  if (script.switches > 0) {
    if (script.wakeups == 0) add_reason(imported.coverage, "no wake-ups were recorded: only waits after preemptions");
    imported.series["sched"] = sched_series(script.waits.all(), "perf script");
  }
  const double seconds = static_cast<double>(script.last - script.first) * 1e-9;
  if (script.interrupts > 0 && seconds > 0)
    imported.series["irq"] = irq_series(script.irqs.all(), {"perf script", request.path.string(), seconds});
  return imported;
}

}  // namespace gradsync
