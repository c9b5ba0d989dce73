#include "src/affinity/targets.h"

#include <fmt/format.h>

#include <set>

namespace gradsync {
namespace {

constexpr std::size_t kNarrowCores = 2;  // a thread that may run on so many cores is placed by somebody on purpose

struct TrainingCpus {
  CpuList pinned, wide, siblings, pinned_siblings;
};

CpuList siblings_of(const IrqSnapshot& snapshot, const CpuList& cpus) {
  CpuList all;
  for (const int cpu : cpus)
    if (const auto found = snapshot.cpus.find(cpu); found != snapshot.cpus.end())
      all = joined(all, found->second.siblings);
  return all;
}

bool is_narrow(const IrqSnapshot& snapshot, const CpuList& allowed) {
  std::set<CpuList> cores;
  for (const int cpu : allowed) {
    const auto found = snapshot.cpus.find(cpu);
    cores.insert(found == snapshot.cpus.end() ? CpuList{cpu} : found->second.siblings);
  }
  return cores.size() <= kNarrowCores;
}

// A thread that may run anywhere says nothing about any CPU.
TrainingCpus training_cpus(const IrqSnapshot& snapshot, const CpuList& online) {
  TrainingCpus training;
  for (const IrqThread& thread : snapshot.threads) {
    const CpuList allowed = common(thread.allowed, online);
    if (allowed == online) continue;
    CpuList& kind = is_narrow(snapshot, allowed) ? training.pinned : training.wide;
    kind = joined(kind, allowed);
  }
  training.siblings = siblings_of(snapshot, joined(training.pinned, training.wide));
  training.pinned_siblings = siblings_of(snapshot, training.pinned);
  return training;
}

IrqTargets within(const CpuList& base, const TrainingCpus& training, const std::string& whose) {
  const CpuList own = joined(training.pinned, training.wide);
  if (const CpuList left = without(base, joined(own, training.siblings)); !left.empty())
    return {left, own.empty() ? whose : whose + " without the training's CPUs and their SMT siblings"};
  if (const CpuList left = without(base, joined(own, training.pinned_siblings)); !left.empty())
    return {left, whose + " without the training's CPUs and the SMT siblings of pinned threads"};
  if (const CpuList left = without(base, own); !left.empty())
    return {left, whose + " without the training's CPUs; their SMT siblings are needed"};
  if (const CpuList left = without(base, training.pinned); !left.empty())
    return {left, whose + " without the CPUs of pinned training threads; the others' are needed"};
  return {};
}

}  // namespace

IrqTargets target_cpus(const IrqSnapshot& snapshot, const IrqDevice& device, const std::optional<CpuList>& allowed,
                       NumaRule numa) {
  const CpuList online = snapshot.online();
  CpuList usable = allowed ? common(online, *allowed) : online;
  for (const auto& [number, cpu] : snapshot.cpus)
    if (cpu.isolated || cpu.nohz_full) usable = without(usable, {number});
  const TrainingCpus training = training_cpus(snapshot, online);
  const bool local_known = !device.local.empty();
  const CpuList local = local_known ? common(usable, device.local) : usable;
  const std::string whose = !local_known       ? "all online CPUs (the device tells no node)"
                            : device.node >= 0 ? fmt::format("CPUs of the device's node {}", device.node)
                                               : "the device's local CPUs";
  IrqTargets targets = within(local, training, whose);
  if (targets.cpus.empty() && local_known && numa == NumaRule::any_node)
    targets = within(usable, training, "CPUs of any node (--force)");
  if (!targets.cpus.empty()) return targets;
  if (usable.empty()) return {{}, "no CPU is left: online, allowed and not isolated at once"};
  if (local.empty())
    return {{},
            fmt::format("no CPU is left near the device (its own: {}); --force allows another NUMA node",
                        format_cpu_list(device.local))};
  return {{}, fmt::format("pinned training threads have all of its CPUs ({})", format_cpu_list(local))};
}

std::string objection(const IrqSnapshot& snapshot, const IrqDevice& device, const std::optional<CpuList>& allowed,
                      int cpu) {
  const auto found = snapshot.cpus.find(cpu);
  if (found == snapshot.cpus.end() || !found->second.online) return fmt::format("CPU {} is offline", cpu);
  if (found->second.isolated) return fmt::format("CPU {} is isolated", cpu);
  if (found->second.nohz_full) return fmt::format("CPU {} runs without a tick (nohz_full)", cpu);
  if (!device.local.empty() && !contains(device.local, cpu))
    return device.node >= 0
               ? fmt::format("CPU {} is on node {}, the device on node {}", cpu, found->second.node, device.node)
               : fmt::format("CPU {} is not near the device", cpu);
  if (allowed && !contains(*allowed, cpu)) return fmt::format("CPU {} is not one of --cpus", cpu);
  const CpuList online = snapshot.online();
  for (const IrqThread& thread : snapshot.threads) {
    const CpuList own = common(thread.allowed, online);
    if (own == online) continue;
    if (contains(own, cpu)) return fmt::format("CPU {} runs training thread {} ({})", cpu, thread.tid, thread.name);
    if (contains(siblings_of(snapshot, own), cpu))
      return fmt::format("CPU {} is the SMT sibling of training thread {} ({})", cpu, thread.tid, thread.name);
  }
  return "";
}

}  // namespace gradsync
