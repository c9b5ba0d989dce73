#include "src/affinity/restore.h"

#include <fmt/format.h>

#include "src/affinity/refusal.h"

namespace gradsync {
namespace {

constexpr std::chrono::milliseconds kPoll{50};

bool on_old_cpu(const SavedIrq& saved, IrqKernel& kernel) { return kernel.effective(saved.irq) == saved.effective; }

// The outcome is decided already for lines that are not ours any more.
bool is_ours(const SavedIrq& saved, IrqKernel& kernel, const RestoreOptions& options, IrqOutcome& outcome) {
  const std::optional<CpuList> now = kernel.allowed(saved.irq);
  if (!now) {
    outcome.state = IrqState::left;
    outcome.says = "its mask cannot be read any more";
    return false;
  }
  if (*now == saved.written || *now == saved.allowed || options.take_over) return true;
  outcome.state = IrqState::left;
  outcome.says = fmt::format("somebody has set it to {} since: left alone", format_cpu_list(*now));
  return false;
}

void write_mask(const SavedIrq& saved, IrqKernel& kernel, IrqOutcome& outcome) {
  const int error = kernel.write_allowed(saved.irq, saved.allowed);
  if (error != 0) {
    const Refusal refusal = explain_refusal(error, saved.irq, saved.allowed);
    outcome.state = IrqState::failed;
    outcome.says = refusal.says;
    outcome.command = fmt::format("echo {} >/proc/irq/{}/smp_affinity_list", format_cpu_list(saved.allowed), saved.irq);
    return;
  }
  outcome.state = IrqState::restored;
  if (saved.effective && !on_old_cpu(saved, kernel))
    outcome.says =
        fmt::format("its mask is back; no interrupt came, so that the kernel has not moved it back to CPU {}",
                    format_cpu_list(*saved.effective));
}

}  // namespace

std::vector<IrqOutcome> restore_interrupts(const std::vector<SavedIrq>& saved, IrqKernel& kernel,
                                           const RestoreOptions& options) {
  std::vector<IrqOutcome> outcomes;
  std::vector<std::size_t> ours, moving;
  for (const SavedIrq& line : saved) {
    outcomes.push_back({line.irq, line.action, line.device, line.allowed, IrqState::restored, "", ""});
    if (is_ours(line, kernel, options, outcomes.back())) ours.push_back(outcomes.size() - 1);
  }
  for (const std::size_t i : ours)
    if (saved[i].effective && !saved[i].effective->empty() && !on_old_cpu(saved[i], kernel) &&
        kernel.write_allowed(saved[i].irq, *saved[i].effective) == 0)
      moving.push_back(i);
  for (auto waited = kPoll; !moving.empty() && waited <= options.patience; waited += kPoll) {
    std::erase_if(moving, [&](std::size_t i) { return on_old_cpu(saved[i], kernel); });
    if (moving.empty() || kernel.wait(kPoll) == Waited::interrupted) break;
  }
  for (const std::size_t i : ours) write_mask(saved[i], kernel, outcomes[i]);
  return outcomes;
}

std::optional<Error> why_not_restorable(const IrqJournal& journal, const IrqSnapshot& now) {
  constexpr const char* kWhat = "cannot undo";
  if (journal.boot_id != now.boot_id)
    return Error{kWhat, "", "the machine has booted since, and has forgotten the change with it", "", 3};
  for (const SavedIrq& saved : journal.irqs) {
    const auto line = now.lines.find(saved.irq);
    const bool same = line != now.lines.end() && line->second.action == saved.action &&
                      (saved.hwirq.empty() || line->second.hwirq.empty() || line->second.hwirq == saved.hwirq);
    if (!same)
      return Error{kWhat, "interrupt " + std::to_string(saved.irq),
                   "it was " + saved.action + " and is " +
                       (line == now.lines.end() ? std::string("gone") : line->second.action) +
                       " now: its driver was loaded again",
                   "a driver that starts anew places its interrupts anew; remove the journal", 3};
  }
  return std::nullopt;
}

}  // namespace gradsync
