// NUMA nodes as words: which of them a list of CPUs belongs to.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/base/cpu_list.h"

namespace gradsync {

using NumaNodes = std::map<int, CpuList>;  // node → its CPUs

// From /sys/devices/system/node below `sys`; empty where the kernel knows no nodes.
NumaNodes read_numa_nodes(const std::filesystem::path& sys);

// "node 0", "nodes 0,1"; "no known node" for CPUs of none.
std::string nodes_text(const CpuList& cpus, const NumaNodes& nodes);

}  // namespace gradsync
