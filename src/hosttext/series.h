// The contract's series `sched` and `irq`, made from what the text parsers and the live collectors give. Columns and
// their meaning are listed in docs/metrics.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/hosttext/interrupt_counts.h"
#include "src/hosttext/irq_times.h"
#include "src/hosttext/thread_waits.h"
#include "src/model/series.h"

namespace gradsync {

Series sched_series(const std::vector<ThreadWait>& threads, const std::string& source);

struct IrqOrigin {
  std::string source;             // "/proc/interrupts", "perf script"
  std::string machine;            // host, or the file it was read from: devices of two are not added up
  std::optional<double> seconds;  // the interval, where it is known
};

// Counts of an interval.
Series irq_series(const std::vector<InterruptCount>& counts, const IrqOrigin& origin);
// Times of handlers. Interrupts of an idle CPU may be missing in them, so a rate is not derived from their counts.
Series irq_series(const std::vector<IrqTime>& times, const IrqOrigin& origin);

}  // namespace gradsync
