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

// Counts of an interval; `seconds` where it is known.
Series irq_series(const std::vector<InterruptCount>& counts, std::optional<double> seconds, const std::string& source);
// Times of handlers. Interrupts of an idle CPU may be missing in them, so a rate is not derived from their counts.
Series irq_series(const std::vector<IrqTime>& times, double seconds, const std::string& source);

}  // namespace gradsync
