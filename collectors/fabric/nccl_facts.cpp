#include "collectors/fabric/nccl_facts.h"

#include <cstdio>
#include <vector>

#include "src/base/text.h"

namespace gradsync {
namespace {

std::string with_two_decimals(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", number);
  return text;
}

}  // namespace

Facts nccl_facts(const NcclLibraries& libraries, const NcclConnection& connection, double empty_kernel_us) {
  Facts facts;
  facts["backend"] = "nccl";
  facts["nccl.version"] = nccl_version_text(libraries.nccl.version);
  facts["nccl.file"] = libraries.nccl.path;
  facts["nccl.ranks"] = std::to_string(connection.ranks.size());
  std::vector<std::string> per_host;
  for (const int ranks : ranks_per_host(connection.ranks)) per_host.push_back(std::to_string(ranks));
  facts["nccl.nodes"] = std::to_string(per_host.size());
  facts["nccl.ranks_per_node"] = join(per_host, ", ");
  facts["cuda.runtime"] = cuda_version_text(libraries.cuda.runtime_version);
  if (libraries.cuda.driver_version > 0) facts["cuda.driver"] = cuda_version_text(libraries.cuda.driver_version);
  if (auto capability = connection.device->compute_capability(); !capability.empty())
    facts["gpu.compute_capability"] = capability;
  facts["gpu.bus_ids"] = join(connection.bus_ids, ", ");
  facts["empty_kernel_us"] = with_two_decimals(empty_kernel_us);
  return facts;
}

}  // namespace gradsync
