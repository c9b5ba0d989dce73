#include "src/affinity/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradsync {
namespace {

constexpr std::chrono::milliseconds kPoll{250};
constexpr double kMostOfThem = 0.9;

bool is_open(const IrqOutcome& outcome) {
  return outcome.state == IrqState::written || outcome.state == IrqState::pending;
}

std::vector<int> open_irqs(const std::vector<IrqOutcome>& outcomes) {
  std::vector<int> irqs;
  for (const IrqOutcome& outcome : outcomes)
    if (is_open(outcome)) irqs.push_back(outcome.irq);
  return irqs;
}

std::map<int, double> difference(const std::map<int, double>& before, const std::map<int, double>& after) {
  std::map<int, double> came;
  for (const auto& [cpu, count] : after) {
    const auto was = before.find(cpu);
    const double more = count - (was == before.end() ? 0 : was->second);
    if (more > 0) came[cpu] = more;
  }
  return came;
}

void say_reverted(IrqOutcome& outcome, const std::optional<CpuList>& now) {
  outcome.says = now ? fmt::format("somebody set it to {}", format_cpu_list(*now)) : "its mask cannot be read any more";
}

}  // namespace

IrqState judge_line(const CpuList& wanted, const IrqSeen& seen, IrqState before) {
  if (seen.allowed != wanted) return IrqState::reverted;
  double total = 0, there = 0;
  for (const auto& [cpu, count] : seen.came) {
    total += count;
    if (contains(wanted, cpu)) there += count;
  }
  // The first one after the write still comes on the old CPU and moves it.
  const bool came_there = total > 0 && there > 0 && there >= kMostOfThem * (total - 1);
  const bool says_so = seen.effective && common(*seen.effective, wanted) == *seen.effective && !seen.effective->empty();
  if (says_so && (total == 0 || came_there || (total == 1 && there == 0))) return IrqState::moved;
  if (!seen.effective && came_there) return IrqState::moved;
  return total == 0 ? before : IrqState::written;
}

Waited verify_moves(std::vector<IrqOutcome>& outcomes, IrqKernel& kernel, std::chrono::milliseconds patience) {
  for (IrqOutcome& outcome : outcomes)
    if (outcome.state == IrqState::written) outcome.state = IrqState::pending;
  std::map<int, std::map<int, double>> last = kernel.counts(open_irqs(outcomes));
  Waited waited = Waited::full;
  for (std::chrono::milliseconds spent{0}; !open_irqs(outcomes).empty() && waited == Waited::full; spent += kPoll) {
    const auto now = kernel.counts(open_irqs(outcomes));
    for (IrqOutcome& outcome : outcomes) {
      if (!is_open(outcome)) continue;
      const auto counted = now.find(outcome.irq);
      IrqSeen seen{kernel.allowed(outcome.irq), kernel.effective(outcome.irq), {}};
      if (counted != now.end()) seen.came = difference(last[outcome.irq], counted->second);
      outcome.state = judge_line(outcome.wanted, seen, outcome.state);
      if (outcome.state == IrqState::reverted) say_reverted(outcome, seen.allowed);
    }
    last = now;
    if (spent >= patience) break;
    if (!open_irqs(outcomes).empty()) waited = kernel.wait(kPoll);
  }
  if (waited == Waited::interrupted) return waited;
  for (IrqOutcome& outcome : outcomes) {
    if (outcome.state == IrqState::pending) outcome.says = "no interrupt came since: the kernel moves it with the next";
    if (outcome.state != IrqState::written) continue;
    outcome.state = IrqState::failed;
    outcome.says = "its interrupts still come on another CPU";
    outcome.command = fmt::format("cat /proc/irq/{}/effective_affinity_list", outcome.irq);
  }
  return waited;
}

void look_for_reverts(std::vector<IrqOutcome>& outcomes, IrqKernel& kernel) {
  for (IrqOutcome& outcome : outcomes) {
    if (outcome.state != IrqState::moved && outcome.state != IrqState::pending) continue;
    const std::optional<CpuList> now = kernel.allowed(outcome.irq);
    if (now == outcome.wanted) {
      const auto effective = kernel.effective(outcome.irq);
      if (outcome.state == IrqState::pending && effective == outcome.wanted) {
        outcome.state = IrqState::moved;
        outcome.says.clear();
      }
      continue;
    }
    outcome.state = IrqState::reverted;
    say_reverted(outcome, now);
  }
}

}  // namespace gradsync
