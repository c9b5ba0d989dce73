#include "collectors/host/numa_places.h"

#include "collectors/host/irq_files.h"

namespace gradsync {

NumaNodes read_numa_nodes(const std::filesystem::path& sys) {
  NumaNodes nodes;
  const std::filesystem::path folder = sys / "devices/system/node";
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with("node") || name.find_first_not_of("0123456789", 4) != std::string::npos || name.size() < 5)
      continue;
    nodes[std::atoi(name.c_str() + 4)] = small_cpu_list(folder / name / "cpulist").value_or(CpuList{});
  }
  return nodes;
}

std::string nodes_text(const CpuList& cpus, const NumaNodes& nodes) {
  CpuList on;
  for (const auto& [node, of_node] : nodes)
    if (!common(cpus, of_node).empty()) on.push_back(node);
  if (on.empty()) return "no known node";
  return (on.size() == 1 ? "node " : "nodes ") + format_cpu_list(on);
}

}  // namespace gradsync
