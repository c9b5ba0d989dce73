// IrqKernel: everything the transaction does to the machine, in one place, so that a test can be the kernel.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "src/model/irq_snapshot.h"

namespace gradsync {

enum class Waited { full, interrupted };  // interrupted: the user wants to stop

class IrqKernel {
 public:
  virtual ~IrqKernel() = default;
  // Whether a mask could be written, without writing: 0 or errno. 0 promises nothing.
  virtual int may_write(int irq) = 0;
  // Writes smp_affinity_list; 0 or errno. The kernel moves the interrupt when it next comes.
  virtual int write_allowed(int irq, const CpuList& cpus) = 0;
  virtual std::optional<CpuList> allowed(int irq) = 0;
  virtual std::optional<CpuList> effective(int irq) = 0;
  // Since boot: irq → CPU → count.
  virtual std::map<int, std::map<int, double>> counts(const std::vector<int>& irqs) = 0;
  virtual std::vector<IrqOwner> owners() = 0;
  virtual Waited wait(std::chrono::milliseconds time) = 0;
};

}  // namespace gradsync
