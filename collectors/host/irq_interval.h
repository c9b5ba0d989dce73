// What the kernel counts of interrupts and their work, read twice some seconds apart: /proc/interrupts (exact counts),
// /proc/softirqs (counts), /proc/stat (time in softirqs, sampled by the tick: brief ones are undercounted) and
// /proc/net/softnet_stat (packets dropped because a CPU did not keep up).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectors/host/irq_snapshot.h"
#include "src/hosttext/interrupts.h"
#include "src/model/series.h"

namespace gradsync {

struct CpuTicks {
  std::uint64_t irq = 0, softirq = 0, all = 0;
};

struct SoftnetCounts {
  std::uint32_t processed = 0, dropped = 0, squeezed = 0;
};

// All counters at one moment.
struct IrqCounters {
  double at_s = 0;  // of a clock that does not jump
  InterruptSnapshot interrupts;
  std::optional<InterruptSnapshot> softirqs;  // same layout as /proc/interrupts: rows of names
  std::map<int, CpuTicks> ticks;
  std::map<int, SoftnetCounts> softnet;
};

Result<IrqCounters> read_irq_counters(const IrqRoots& roots, double at_s);

// The interval between two moments. `series`: `irq`, and `softnet` where the kernel has it.
struct IrqInterval {
  IrqRates rates;
  std::map<int, double> softirq_percent;  // of each CPU
  SeriesSet series;
};
IrqInterval irq_interval(const IrqCounters& before, const IrqCounters& after, const std::string& machine);

}  // namespace gradsync
