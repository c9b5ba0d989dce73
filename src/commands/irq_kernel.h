// The live machine as the transaction's IrqKernel. While it exists SIGINT, SIGTERM and SIGHUP do not end the process: a
// wait returns early instead, so that masks are put back first.
#pragma once

#include <signal.h>

#include "collectors/host/irq_snapshot.h"
#include "src/affinity/kernel.h"

namespace gradsync {

class LiveIrqKernel final : public IrqKernel {
 public:
  explicit LiveIrqKernel(IrqRoots roots);
  LiveIrqKernel(const LiveIrqKernel&) = delete;
  LiveIrqKernel& operator=(const LiveIrqKernel&) = delete;
  ~LiveIrqKernel() override;

  int may_write(int irq) override;
  int write_allowed(int irq, const CpuList& cpus) override;
  std::optional<CpuList> allowed(int irq) override;
  std::optional<CpuList> effective(int irq) override;
  std::map<int, std::map<int, double>> counts(const std::vector<int>& irqs) override;
  std::vector<IrqOwner> owners() override;
  Waited wait(std::chrono::milliseconds time) override;

  int signal() const { return signal_; }  // the one that asked to stop; 0: none

 private:
  IrqRoots roots_;
  sigset_t stopping_{}, before_{};
  int signal_ = 0;
};

}  // namespace gradsync
