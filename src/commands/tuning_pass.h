// NCCL's own choice of algorithm and protocol for each size, asked before a sweep: a cliff where it switches is NCCL's
// doing, not the fabric's. In processes of their own, since NCCL reads once a process whether to tell, and telling costs
// time in every call.
//
//   each rank   ──┬─▶ sweep --once …, one call of each size, on another port; on rank 0 with NCCL_DEBUG_SUBSYS=TUNING
//                 ╰── waits for it, then measures
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "collectors/fabric/backend.h"
#include "collectors/fabric/rank_store.h"
#include "src/commands/sweep_task.h"
#include "src/model/report.h"

namespace gradsync {

class TuningPass {
 public:
  // `stop`: set by the handler of Ctrl-C.
  TuningPass(const SweepTask& task, const std::atomic<bool>& stop) : task_(task), stop_(stop) {}

  // In every rank, at the same place between them. Never fails: why there is no answer is coverage.
  void run(const FabricPlace& place, RankStore& store);

  // On rank 0, after run(): rows of nccl_choices (docs/metrics.md). No columns: there is no answer.
  const Series& choices() const { return choices_; }
  // Empty when nothing was asked or all is well.
  const std::vector<Coverage>& coverage() const { return coverage_; }

 private:
  void ask(const FabricPlace& place, const std::string& address, const std::string& port);
  std::vector<std::string> arguments(const FabricPlace& place) const;
  void read_log(const std::string& path);
  void no_answer(const std::string& why);

  const SweepTask& task_;
  const std::atomic<bool>& stop_;
  Series choices_;
  std::vector<Coverage> coverage_;
};

}  // namespace gradsync
