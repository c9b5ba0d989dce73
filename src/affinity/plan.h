// The plan: for each interrupt stay, move to one CPU, or leave alone, and why. A pure function of a snapshot and rates.
//
// Busiest queues first, each to the least loaded CPU of its device's targets (targets.h); one that is within 20 % of
// the best stays where it is. A device's moves stand only when its busiest CPU is predicted at least 10 % nearer to the
// mean, or an interrupt leaves a CPU that it should not be on. Planning the planned state moves nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/affinity/targets.h"
#include "src/model/irq_snapshot.h"

namespace gradsync {

enum class IrqDecision { move, stay, leave };
const char* to_string(IrqDecision decision);

struct IrqPlanLine {
  int irq = 0;
  std::string action, device;  // device: its label
  IrqDecision decision = IrqDecision::leave;
  CpuList allowed;           // the mask now
  std::optional<int> from;   // the CPU that serves it now
  std::optional<int> to;     // move: the CPU that should
  std::vector<int> instead;  // move: the next best CPUs, should that one have no vector left
  double rate_hz = 0;
  std::string reason;
};

struct IrqDevicePlan {
  std::string label;
  IrqTargets targets;
  double busiest_over_mean = 0, predicted = 0;  // of its queues' interrupts over as many CPUs as they could have
};

struct IrqPlan {
  std::vector<IrqPlanLine> lines;  // by device and number
  std::vector<IrqDevicePlan> devices;
  bool rates_known = false;  // else each queue counts the same

  std::vector<IrqPlanLine> moves() const;
};

struct IrqPlanOptions {
  std::vector<std::string> devices;  // labels, interfaces or PCI addresses; empty: network devices
  std::vector<int> irqs;             // these only, whatever they are, but never managed ones
  std::optional<CpuList> cpus;       // where interrupts may go
  NumaRule numa = NumaRule::keep_local;
  double least_rate_hz = 100;  // below, moving it changes nothing; irqs that are named are exempt
};

IrqPlan plan_interrupts(const IrqSnapshot& snapshot, const IrqRates& rates, const IrqPlanOptions& options);

// The CPU that serves a line now: the effective one, else the one on which most came.
std::optional<int> serving_cpu(const IrqLine& line, const IrqRates& rates);

// Names of `devices` that fit none, and numbers of `irqs` that are not there; for the error message.
std::vector<std::string> unknown_names(const IrqSnapshot& snapshot, const IrqPlanOptions& options);

}  // namespace gradsync
