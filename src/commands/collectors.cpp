#include "src/commands/collectors.h"

#include "collectors/attach/attach.h"
#include "collectors/host/host.h"

namespace gradsync {

std::vector<std::unique_ptr<Collector>> all_collectors() {
  std::vector<std::unique_ptr<Collector>> collectors;
  collectors.push_back(make_torch_attach());
  collectors.push_back(make_nvtx_attach());
  collectors.push_back(make_nccl_plugin_attach());
  collectors.push_back(make_nccl_calls_attach());
  collectors.push_back(make_process_watch());
  collectors.push_back(make_sched_tiers());
  collectors.push_back(make_proc_sampler());
  collectors.push_back(make_copy_sampler());
  collectors.push_back(make_nic_sampler());
  collectors.push_back(make_gpu_sampler());
  collectors.push_back(make_topology());
  return collectors;
}

}  // namespace gradsync
