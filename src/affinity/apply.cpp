#include "src/affinity/apply.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/affinity/refusal.h"
#include "src/affinity/restore.h"

namespace gradsync {
namespace {

// A vector that is not free on one CPU may be on the next: at most 3 of those. Returns the last refusal.
Refusal write_line(const IrqPlanLine& move, SavedIrq& saved, IrqKernel& kernel, IrqOutcome& outcome) {
  std::vector<int> cpus{*move.to};
  cpus.insert(cpus.end(), move.instead.begin(), move.instead.end());
  Refusal refusal;
  for (const int cpu : cpus) {
    const CpuList wanted{cpu};
    const int error = kernel.write_allowed(move.irq, wanted);
    if (error != 0) {
      refusal = explain_refusal(error, move.irq, wanted);
      if (refusal.kind == RefusalKind::cpu_full) continue;
      return refusal;
    }
    outcome.wanted = saved.written = wanted;
    if (cpu != *move.to)
      outcome.says = fmt::format("CPU {} has no interrupt vector left: CPU {} instead", *move.to, cpu);
    const std::optional<CpuList> now = kernel.allowed(move.irq);
    if (now == wanted) return {RefusalKind::other, "", ""};
    return {RefusalKind::other,
            fmt::format("the kernel took the mask and has {} now", now ? format_cpu_list(*now) : "none"), ""};
  }
  return refusal;
}

void fail(const Refusal& refusal, IrqOutcome& outcome) {
  outcome.state = refusal.kind == RefusalKind::managed ? IrqState::skipped : IrqState::failed;
  outcome.says = refusal.says;
  outcome.command = refusal.command;
}

SavedIrq& find_saved(std::vector<SavedIrq>& saved, int irq) {
  return *std::find_if(saved.begin(), saved.end(), [&](const SavedIrq& line) { return line.irq == irq; });
}

// What was written of the device before one of its lines failed.
void put_back(const std::string& device, const std::string& why, const std::vector<SavedIrq>& saved, Applied& applied,
              IrqKernel& kernel) {
  std::vector<SavedIrq> written;
  for (const IrqOutcome& outcome : applied.outcomes)
    if (outcome.device == device && outcome.state == IrqState::written)
      for (const SavedIrq& line : saved)
        if (line.irq == outcome.irq) written.push_back(line);
  for (const IrqOutcome& restored : restore_interrupts(written, kernel))
    for (IrqOutcome& outcome : applied.outcomes)
      if (outcome.irq == restored.irq) {
        outcome.state = restored.state;
        outcome.says = restored.says.empty() ? "put back: " + why : restored.says;
        outcome.command = restored.command;
      }
}

}  // namespace

Applied apply_moves(const std::vector<IrqPlanLine>& moves, std::vector<SavedIrq>& saved, IrqKernel& kernel) {
  Applied applied;
  std::string failed_device;
  bool device_failed = false;
  for (const IrqPlanLine& move : moves) {
    if (device_failed && move.device == failed_device) {
      applied.outcomes.push_back({move.irq,
                                  move.action,
                                  move.device,
                                  {*move.to},
                                  IrqState::failed,
                                  "not tried: another interrupt of its device failed",
                                  ""});
      continue;
    }
    device_failed = false;
    IrqOutcome outcome{move.irq, move.action, move.device, {*move.to}, IrqState::written, "", ""};
    const Refusal refusal = write_line(move, find_saved(saved, move.irq), kernel, outcome);
    if (!refusal.says.empty()) fail(refusal, outcome);
    applied.outcomes.push_back(outcome);
    if (outcome.state != IrqState::failed) continue;
    applied.cpu_gone = applied.cpu_gone || refusal.kind == RefusalKind::cpu_gone;
    device_failed = true;
    failed_device = move.device;
    put_back(move.device, fmt::format("interrupt {} failed", move.irq), saved, applied, kernel);
    if (refusal.kind == RefusalKind::read_only || refusal.kind == RefusalKind::not_permitted) {
      applied.stopped = true;
      break;
    }
  }
  return applied;
}

std::vector<SavedIrq> lines_to_save(const IrqSnapshot& snapshot, const std::vector<IrqPlanLine>& moves) {
  std::vector<SavedIrq> saved;
  for (const IrqPlanLine& move : moves) {
    const IrqLine& line = snapshot.lines.at(move.irq);
    saved.push_back({line.irq,
                     line.action,
                     line.hwirq,
                     line.chip,
                     move.device,
                     line.allowed.value_or(CpuList{}),
                     line.effective,
                     line.hint,
                     line.node,
                     {*move.to}});
  }
  return saved;
}

}  // namespace gradsync
