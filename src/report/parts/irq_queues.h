// The interrupts of queues by the CPUs on which they came, read from the series irq, irq_cpus and irq_plan.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

struct IrqQueue {
  std::string irq, vector, device;
  std::map<int, double> rate;  // by bin
  double total = 0;
  int serving = -1, target = -1;  // bins; the plan's
};

struct CpuBins {
  std::vector<int> first_cpu, node;
  std::vector<bool> node_begins, training;
  std::map<int, int> of_cpu;
  int cell = 1;  // columns
};

// CPUs by NUMA node; one bin for several CPUs where there are more than `columns`.
CpuBins bins_of(const Report& report, int columns);

// The busiest queues, in the order of devices and numbers.
std::vector<IrqQueue> queues_of(const Report& report, const CpuBins& bins, std::size_t most, std::size_t& left_out);

}  // namespace gradsync
