#include "src/commands/irq_places.h"

#include <fmt/format.h>

#include <map>

#include "collectors/host/numa_places.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

NumaNodes nodes_of(const IrqSnapshot& snapshot) {
  NumaNodes nodes;
  for (const auto& [number, cpu] : snapshot.cpus) nodes[cpu.node].push_back(number);
  return nodes;
}

std::string counted(const std::map<std::string, int>& places) {
  std::string text;
  for (const auto& [place, count] : places) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", place, count);
  return text;
}

}  // namespace

std::string numa_text(const IrqSnapshot& snapshot) {
  const NumaNodes nodes = nodes_of(snapshot);
  if (nodes.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [key, device] : snapshot.devices) {
    if (device.node < 0) continue;
    std::map<std::string, int> served;
    int queues = 0;
    for (const auto& [irq, line] : snapshot.lines) {
      const auto& cpus = line.effective ? line.effective : line.allowed;
      if (line.device != key || line.role != VectorRole::queue || !cpus || cpus->empty()) continue;
      ++served[nodes_text(*cpus, nodes)];
      ++queues;
    }
    if (queues > 0)
      parts.push_back(fmt::format("{} is on node {}, its {} queues are served on {}", device.label, device.node, queues,
                                  counted(served)));
  }
  std::map<std::string, int> threads;
  for (const IrqThread& thread : snapshot.threads) ++threads[nodes_text(thread.allowed, nodes)];
  if (!threads.empty()) parts.push_back("the training's threads may run on " + counted(threads));
  return join(parts, "; ");
}

}  // namespace gradsync
