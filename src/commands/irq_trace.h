// Times of interrupt handlers while `irq` counts, by the best way that is allowed here.
#pragma once

#include <memory>
#include <string>

#include "collectors/host/irq_snapshot.h"
#include "collectors/host/sched_trace.h"
#include "src/affinity/plan.h"
#include "src/model/collector.h"

namespace gradsync {

// "best", "A", "B" of an option --tier.
TierChoice tier_choice(const std::string& tier);

class IrqTrace {
 public:
  // tier "C": none. What forbids it is told by finish.
  explicit IrqTrace(const std::string& tier);
  // The series irq with times and what was seen, beside what /proc/interrupts counted meanwhile.
  RecordingParts finish(const IrqRates& counted);

 private:
  std::unique_ptr<SchedTrace> trace_;
  Error refused_{"cannot time interrupts", "", "--tier C", ""};
};

}  // namespace gradsync
