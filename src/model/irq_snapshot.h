// What is known of a machine's interrupts, CPUs and devices at one moment, and how often interrupts came in an interval.
// Plain values: the planner (src/affinity) reads nothing else, so that a captured tree tests it as well as a machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/base/cpu_list.h"
#include "src/model/vector_role.h"

namespace gradsync {

struct IrqLine {
  int irq = 0;
  std::string action;  // the handler's name in /proc/interrupts
  std::string hwirq, chip;
  std::string device;  // key of IrqSnapshot::devices; empty: of none that is known
  VectorRole role = VectorRole::other;
  std::optional<CpuList> allowed, effective, hint;  // smp_affinity_list, effective_affinity_list, affinity_hint
  int node = -1;                                    // -1: not known
  std::optional<unsigned> mode;                     // permission bits of smp_affinity_list
  bool threaded = false;                            // a kernel thread irq/N-… runs its handler

  // The kernel spreads such interrupts itself; since 6.x it says so by the file's mode.
  bool managed() const { return mode && (*mode & 0222U) == 0; }
};

struct IrqCpu {
  bool online = true;
  int node = 0;
  CpuList siblings;  // SMT, itself among them
  bool isolated = false, nohz_full = false;
};

enum class IrqDeviceKind { network, storage, other };
const char* to_string(IrqDeviceKind kind);

struct IrqDevice {
  std::string label;                // what people call it: "eth0", "mlx5@0000:1b:00.0", "nvme0"
  std::string path;                 // below /sys; empty: known by the names of its interrupts alone
  std::vector<std::string> serves;  // network interfaces and RDMA devices
  IrqDeviceKind kind = IrqDeviceKind::other;
  CpuList local;  // empty: not known
  int node = -1;
  std::vector<int> msi_irqs;
};

struct IrqThread {
  int pid = 0, tid = 0;
  std::string name;
  CpuList allowed;
};

// A process that places interrupts itself.
struct IrqOwner {
  int pid = 0;
  std::string name;
};

struct IrqSnapshot {
  std::string boot_id, host;
  std::map<int, IrqLine> lines;
  std::map<int, IrqCpu> cpus;  // present ones
  std::map<std::string, IrqDevice> devices;
  std::vector<IrqThread> threads;  // of the training
  std::vector<IrqOwner> owners;
  std::optional<CpuList> default_allowed;  // default_smp_affinity
  bool realtime = false;                   // a PREEMPT_RT kernel
  std::vector<std::string> missing;        // what could not be read, in words

  CpuList online() const;
};

// Interrupts that came in an interval.
struct IrqRates {
  std::optional<double> seconds;               // nothing: no interval, or a copy whose counters stand still
  std::map<int, std::map<int, double>> count;  // irq → CPU → interrupts

  double per_second(int irq) const;  // 0 without an interval
  // The CPU on which most of them came.
  std::optional<int> busiest(int irq) const;
};

}  // namespace gradsync
