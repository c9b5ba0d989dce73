// Threads of the job that are bound to one core and share it: the same CPU, so that they take turns, or its SMT siblings,
// so that each slows the other down; and devices' interrupts on that core. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/cpu_list.h"
#include "src/model/collector.h"

namespace gradsync {

struct CoreThread {
  std::string name;    // "python3:812"
  CpuList allowed;     // where it may run
  double percent = 0;  // of a CPU that it used
};

struct CoreInterrupts {
  std::string device;
  int cpu = 0;
  double per_s = 0;
};

struct Collision {
  enum class Kind { same_cpu, smt_siblings };
  CpuList cpus;  // of the core that are used
  Kind kind = Kind::smt_siblings;
  std::vector<std::string> who;  // "python3:812 (93 %)", the busiest first; "eth0 (12000 interrupts/s)"
};

// Below these a neighbour does not matter.
inline constexpr double kLeastBusyPercent = 10, kLeastInterrupts = 1000;

// `cores`: CPU → its SMT siblings, itself among them.
std::vector<Collision> find_collisions(const std::vector<CoreThread>& threads,
                                       const std::vector<CoreInterrupts>& interrupts,
                                       const std::map<int, CpuList>& cores);

// The series `collisions` and the facts sched.same_core; nothing where it is not known where threads may run.
void add_collisions(const std::vector<CoreThread>& threads, const std::vector<CoreInterrupts>& interrupts,
                    const std::map<int, CpuList>& cores, const std::string& machine, RecordingParts& parts);

}  // namespace gradsync
