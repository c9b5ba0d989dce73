// Any bytes as output of perf sched latency, perf sched timehist and perf script, line by line as the importers read.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collectors/import/host_lines.h"
#include "collectors/import/perf_format.h"
#include "src/hosttext/irq_times.h"
#include "src/hosttext/perf_latency.h"
#include "src/hosttext/perf_script_line.h"
#include "src/hosttext/perf_timehist.h"
#include "src/hosttext/series.h"

using namespace gradsync;

namespace {

void add(const ScriptLine& line, ThreadWaits& waits, IrqTimes& irqs) {
  if (line.kind == Tracepoint::sched_switch) waits.switched(line.at, line.change);
  if (line.kind == Tracepoint::wakeup) waits.wakeup(line.at, line.tid, line.name);
  if (line.kind == Tracepoint::irq_entry) irqs.hard_entry(line.at, line.cpu, line.irq, line.name);
  if (line.kind == Tracepoint::irq_exit) irqs.hard_exit(line.at, line.cpu, line.irq);
  if (line.kind == Tracepoint::softirq_entry) irqs.soft_entry(line.at, line.cpu, line.irq);
  if (line.kind == Tracepoint::softirq_exit) irqs.soft_exit(line.at, line.cpu, line.irq);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)(is_perf_latency(text) || is_perf_timehist(text) || is_perf_script(text));
  PerfLatencyParser latency;
  PerfTimehistParser timehist;
  ThreadWaits waits;
  IrqTimes irqs;
  FirstLines lines(text, 1 << 30);
  while (const auto line = lines.next()) {
    latency.add_line(*line);
    timehist.add_line(*line);
    (void)lost_by_perf(*line);
    if (const auto event = parse_script_line(*line)) add(*event, waits, irqs);
  }
  (void)latency.table().without_wakeups();
  (void)sched_series(latency.table().tasks, "perf sched latency");
  (void)sched_series(timehist.threads(), "perf sched timehist");
  (void)sched_series(waits.all(), "perf script");
  (void)irq_series(irqs.all(), {"perf script", "fuzz", 1.0});
  return 0;
}
