// Who moved the interrupts back, and what keeps it from doing so. Nobody's daemon is stopped: it serves the others.
#pragma once

#include <string>
#include <vector>

#include "src/model/irq_snapshot.h"

namespace gradsync {

struct Remedy {
  std::string who;      // "irqbalance (process 712)"; empty: nobody who is known
  std::string says;     // what to do
  std::string command;  // the lines to type
};

Remedy remedy_against(const std::vector<IrqOwner>& owners, const std::vector<int>& irqs);

// For IRQBALANCE_ARGS="--policyscript=FILE": irqbalance runs it with the device's path and the number of each interrupt,
// and leaves those alone for which it prints ban=true.
std::string irqbalance_policy(const std::vector<int>& irqs);

}  // namespace gradsync
