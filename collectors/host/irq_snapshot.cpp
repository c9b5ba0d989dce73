#include "collectors/host/irq_snapshot.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>

#include "collectors/host/irq_devices.h"
#include "collectors/host/irq_files.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/interrupt_vectors.h"
#include "src/hosttext/interrupts.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// "online" lists CPUs that run; "present" those that could. A CPU that is neither has no folder of its own or is offline.
void read_cpus(const IrqRoots& roots, const CpuList& counted, IrqSnapshot& snapshot) {
  const fs::path folder = roots.sys / "devices/system/cpu";
  const auto online = small_cpu_list(folder / "online");
  const auto present = small_cpu_list(folder / "present");
  if (!online) snapshot.missing.emplace_back("which CPUs are online; those of /proc/interrupts are taken");
  const CpuList running = online.value_or(counted);
  const CpuList isolated = small_cpu_list(folder / "isolated").value_or(CpuList{});
  const CpuList quiet = small_cpu_list(folder / "nohz_full").value_or(CpuList{});
  for (const int number : joined(running, present.value_or(CpuList{}))) {
    IrqCpu& cpu = snapshot.cpus[number];
    cpu.online = contains(running, number);
    cpu.isolated = contains(isolated, number);
    cpu.nohz_full = contains(quiet, number);
    const fs::path topology = folder / ("cpu" + std::to_string(number)) / "topology";
    cpu.siblings = small_cpu_list(topology / "thread_siblings_list").value_or(CpuList{number});
  }
  const fs::path nodes = roots.sys / "devices/system/node";
  for (const std::string& name : names_in(nodes)) {
    if (!name.starts_with("node") || name.size() < 5) continue;
    const int node = std::atoi(name.c_str() + 4);
    for (const int number : small_cpu_list(nodes / name / "cpulist").value_or(CpuList{}))
      if (const auto cpu = snapshot.cpus.find(number); cpu != snapshot.cpus.end()) cpu->second.node = node;
  }
}

void read_line(const IrqRoots& roots, const InterruptRow& row, IrqSnapshot& snapshot) {
  const int irq = std::atoi(row.id.c_str());
  const fs::path folder = roots.proc / "irq" / row.id, kernel = roots.sys / "kernel/irq" / row.id;
  IrqLine line;
  line.irq = irq;
  line.action = row.handlers;
  line.role = interrupt_vector(row.handlers).role;
  line.hwirq = small_text(kernel / "hwirq").value_or("");
  line.chip = small_text(kernel / "chip_name").value_or("");
  line.allowed = small_cpu_list(folder / "smp_affinity_list");
  line.effective = small_cpu_list(folder / "effective_affinity_list");
  if (const auto hint = small_text(folder / "affinity_hint")) line.hint = parse_cpu_mask(*hint);
  line.node = small_number(folder / "node").value_or(-1);
  struct stat status {};
  if (::stat((folder / "smp_affinity_list").c_str(), &status) == 0) line.mode = status.st_mode & 07777U;
  snapshot.lines[irq] = std::move(line);
}

// "mlx5_comp3@pci:0000:1b:00.0" → the device 0000:1b:00.0 is called mlx5@0000:1b:00.0; a network interface's name is
// better. Lines that no msi_irqs names belong to what their names say.
void name_devices(IrqSnapshot& snapshot) {
  for (const auto& [key, device] : snapshot.devices)
    for (const int irq : device.msi_irqs)
      if (const auto line = snapshot.lines.find(irq); line != snapshot.lines.end()) line->second.device = key;
  std::set<std::string> named;
  for (auto& [irq, line] : snapshot.lines) {
    const InterruptVector vector = interrupt_vector(line.action);
    if (vector.role == VectorRole::other) continue;
    if (line.device.empty()) {
      line.device = vector.device;
      IrqDevice& device = snapshot.devices[line.device];
      device.label = line.device;
      device.node = line.node;
      const bool network = line.action.starts_with("eth") || line.action.starts_with("en");
      if (network) device.kind = IrqDeviceKind::network;
      if (vector.device.starts_with("nvme")) device.kind = IrqDeviceKind::storage;
    } else if (IrqDevice& device = snapshot.devices[line.device]; named.insert(line.device).second) {
      device.label =
          device.serves.empty() || vector.device.find('@') != std::string::npos ? vector.device : device.serves.front();
    }
  }
}

// A device that knows its node and not its CPUs has those of the node.
void complete_locality(IrqSnapshot& snapshot) {
  for (auto& [key, device] : snapshot.devices) {
    if (!device.local.empty() || device.node < 0) continue;
    for (const auto& [number, cpu] : snapshot.cpus)
      if (cpu.node == device.node) device.local.push_back(number);
  }
}

bool places_interrupts(const std::string& name) {
  return name == "irqbalance" || name == "tuned" || name == "crio" || name.starts_with("nri-resource") ||
         name == "topology-updater";
}

void read_processes(const IrqRoots& roots, IrqSnapshot& snapshot) {
  for (const int pid : numbers_in(roots.proc)) {
    const std::string name = small_text(roots.proc / std::to_string(pid) / "comm").value_or("");
    if (places_interrupts(name)) snapshot.owners.push_back({pid, name});
    if (!name.starts_with("irq/")) continue;
    const auto line = snapshot.lines.find(std::atoi(name.c_str() + 4));
    if (line != snapshot.lines.end()) line->second.threaded = true;
  }
}

// "4100 (python3 x) S 4000 …": the parent is the second word after the name, which may hold anything.
int parent_of(const IrqRoots& roots, int pid) {
  const std::string stat = small_text(roots.proc / std::to_string(pid) / "stat").value_or("");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  const std::string_view rest = std::string_view(stat).substr(name_end + 1);
  const std::vector<std::string_view> words = split_words(rest);
  return words.size() < 2 ? 0 : std::atoi(std::string(words[1]).c_str());
}

// The processes and all that they started: torchrun is given, its ranks are meant.
std::vector<int> with_descendants(const IrqRoots& roots, const std::vector<int>& given) {
  std::map<int, int> parents;
  for (const int pid : given.empty() ? std::vector<int>() : numbers_in(roots.proc))
    parents[pid] = parent_of(roots, pid);
  std::vector<int> all = given;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& [pid, parent] : parents)
      if (parent == all[i] && std::find(all.begin(), all.end(), pid) == all.end()) all.push_back(pid);
  return all;
}

// A thread's own Cpus_allowed_list: runtimes change it for each thread.
void read_threads(const IrqRoots& roots, int pid, IrqSnapshot& snapshot) {
  const fs::path tasks = roots.proc / std::to_string(pid) / "task";
  const std::vector<int> tids = numbers_in(tasks);
  if (tids.empty()) snapshot.missing.push_back("the threads of process " + std::to_string(pid));
  for (const int tid : tids) {
    IrqThread thread{pid, tid, small_text(tasks / std::to_string(tid) / "comm").value_or(""), {}};
    const std::string status = small_text(tasks / std::to_string(tid) / "status").value_or("");
    constexpr std::string_view kKey = "\nCpus_allowed_list:";
    const std::size_t at = status.find(kKey);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + kKey.size();
    thread.allowed = parse_cpu_list(status.substr(begin, status.find('\n', begin) - begin)).value_or(CpuList{});
    if (!thread.allowed.empty()) snapshot.threads.push_back(std::move(thread));
  }
}

}  // namespace

Result<IrqSnapshot> read_irq_snapshot(const IrqRoots& roots, const std::vector<int>& training) {
  const Result<std::string> text = read_file(roots.proc / "interrupts", kMostBytes);
  if (!text) return text.error();
  const std::vector<InterruptSnapshot> counts = parse_interrupts(*text);
  if (counts.empty())
    return Error{"cannot read", (roots.proc / "interrupts").string(), "it has no line of CPU names", "", 3};
  IrqSnapshot snapshot;
  snapshot.boot_id = small_text(roots.proc / "sys/kernel/random/boot_id").value_or("");
  snapshot.host = small_text(roots.proc / "sys/kernel/hostname").value_or("");
  snapshot.realtime = small_text(roots.sys / "kernel/realtime").value_or("0") == "1";
  if (const auto mask = small_text(roots.proc / "irq/default_smp_affinity"))
    snapshot.default_allowed = parse_cpu_mask(*mask);
  for (const InterruptRow& row : counts.back().rows)
    if (row.device) read_line(roots, row, snapshot);
  const bool any_mask = std::any_of(snapshot.lines.begin(), snapshot.lines.end(),
                                    [](const auto& entry) { return entry.second.allowed.has_value(); });
  if (!any_mask) snapshot.missing.emplace_back("where interrupts may go: no readable smp_affinity_list");
  read_cpus(roots, counts.back().cpus, snapshot);
  snapshot.devices = read_irq_devices(roots.sys);
  name_devices(snapshot);
  complete_locality(snapshot);
  read_processes(roots, snapshot);
  for (const int pid : with_descendants(roots, training)) read_threads(roots, pid, snapshot);
  return snapshot;
}

}  // namespace gradsync
