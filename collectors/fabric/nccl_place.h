// Where the ranks of a sweep stand: which hosts, which GPUs, and whether NCCL can work with that. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

// What a rank tells the others before it touches a GPU.
struct NcclHello {
  std::string host;  // one machine, whatever containers call it: name and boot id
  int devices = 0;
  int nccl_version = 0;
};

std::string to_words(const NcclHello& hello);
Result<std::vector<NcclHello>> hellos_of(const std::vector<std::string>& words);

// Error: ranks with different NCCL versions.
Result<void> same_versions(const std::vector<NcclHello>& ranks);

// The rank among those on its host. With fewer GPUs than ranks they are dealt out again from the first one.
int device_of(const std::vector<NcclHello>& ranks, int rank);

// Ranks of each host, in order of their first rank.
std::vector<int> ranks_per_host(const std::vector<NcclHello>& ranks);

enum class SharedGpu { refused, allowed };

// Whether this NCCL takes two ranks on one GPU: from 2.30 on, with NCCL_MULTI_RANK_GPU_ENABLE=1.
SharedGpu shared_gpu(int nccl_version, std::string_view multi_rank_variable);

// Error: two ranks on one GPU. `bus_ids` are by rank; an empty one is not compared.
Result<void> gpus_differ(const std::vector<NcclHello>& ranks, const std::vector<std::string>& bus_ids);

}  // namespace gradsync
