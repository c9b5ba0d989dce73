// Snapshots and rates in a few words.
#pragma once

#include <random>

#include "src/affinity/plan.h"

namespace gradsync {

// CPUs 0…count-1 on `nodes` nodes in turn of equal parts; SMT siblings are i and i + count / 2.
inline IrqSnapshot machine(int count, int nodes) {
  IrqSnapshot snapshot;
  snapshot.boot_id = "boot-1";
  for (int i = 0; i < count; ++i) {
    const int core = i % (count / 2);
    snapshot.cpus[i] = {true, core * nodes / (count / 2), {core, core + count / 2}, false, false};
  }
  return snapshot;
}

inline void add_device(IrqSnapshot& snapshot, const std::string& name, int node) {
  IrqDevice& device = snapshot.devices[name];
  device.label = name;
  device.kind = IrqDeviceKind::network;
  device.node = node;
  for (const auto& [number, cpu] : snapshot.cpus)
    if (cpu.node == node) device.local.push_back(number);
}

inline IrqLine& add_queue(IrqSnapshot& snapshot, IrqRates& rates, const std::string& device, int irq, int cpu,
                          double rate_hz) {
  IrqLine& line = snapshot.lines[irq];
  line.irq = irq;
  line.action = device + "-TxRx-" + std::to_string(irq);
  line.device = device;
  line.role = VectorRole::queue;
  line.allowed = snapshot.online();
  line.effective = CpuList{cpu};
  line.mode = 0644;
  rates.seconds = 10;
  rates.count[irq][cpu] = rate_hz * 10;
  return line;
}

// The machine when the plan has been carried out.
inline void carry_out(const IrqPlan& plan, IrqSnapshot& snapshot, IrqRates& rates) {
  for (const IrqPlanLine& move : plan.moves()) {
    snapshot.lines[move.irq].allowed = CpuList{*move.to};
    snapshot.lines[move.irq].effective = CpuList{*move.to};
    double sum = 0;
    for (const auto& [cpu, count] : rates.count[move.irq]) sum += count;
    rates.count[move.irq] = {{*move.to, sum}};
  }
}

// A machine of any shape: devices, queues, managed ones, threads, isolated and offline CPUs.
inline void any_machine(std::uint64_t seed, IrqSnapshot& snapshot, IrqRates& rates) {
  std::mt19937_64 random(seed);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<std::uint64_t>(limit)); };
  const int nodes = 1 + below(4), cpus = 2 * nodes * (1 + below(8));
  snapshot = machine(cpus, nodes);
  for (auto& [number, cpu] : snapshot.cpus) {
    cpu.online = number == 0 || below(8) != 0;
    cpu.isolated = below(10) == 0;
  }
  const int devices = 1 + below(3);
  for (int d = 0; d < devices; ++d) {
    const std::string name = "eth" + std::to_string(d);
    add_device(snapshot, name, below(nodes));
    for (int q = 0; q < 1 + below(20); ++q) {
      IrqLine& line = add_queue(snapshot, rates, name, 100 * (d + 1) + q, below(cpus), below(20000));
      if (below(6) == 0) line.mode = 0444;
      if (below(12) == 0) line.role = VectorRole::control;
    }
  }
  for (int t = 0; t < below(6); ++t) {
    CpuList allowed;
    for (const auto& [number, cpu] : snapshot.cpus)
      if (below(3) == 0) allowed.push_back(number);
    if (!allowed.empty()) snapshot.threads.push_back({1, 10 + t, "worker", allowed});
  }
}

}  // namespace gradsync
