#include "collectors/fabric/nccl_place.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "collectors/fabric/nccl_library.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

bool read_number(std::string_view word, int& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

}  // namespace

std::string to_words(const NcclHello& hello) {
  return hello.host + " " + std::to_string(hello.devices) + " " + std::to_string(hello.nccl_version);
}

Result<std::vector<NcclHello>> hellos_of(const std::vector<std::string>& words) {
  std::vector<NcclHello> ranks;
  for (const std::string& line : words) {
    const auto word = split_words(line);
    NcclHello hello;
    if (word.size() != 3 || !read_number(word[1], hello.devices) || !read_number(word[2], hello.nccl_version))
      return Error{"ranks do not understand each other", "rank " + std::to_string(ranks.size()),
                   "it said: " + escape_controls(line), "all ranks must run the same gradsync-doctor"};
    hello.host = word[0];
    ranks.push_back(std::move(hello));
  }
  return ranks;
}

Result<void> same_versions(const std::vector<NcclHello>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank].nccl_version == ranks[0].nccl_version) continue;
    return Error{"ranks have different versions of NCCL", "",
                 "rank 0 has " + nccl_version_text(ranks[0].nccl_version) + ", rank " + std::to_string(rank) + " has " +
                     nccl_version_text(ranks[rank].nccl_version),
                 "install the same on all hosts, or name the file: GSD_NCCL_LIBRARY=/path/libnccl.so.2"};
  }
  return {};
}

int device_of(const std::vector<NcclHello>& ranks, int rank) {
  const NcclHello& own = ranks[static_cast<std::size_t>(rank)];
  const auto before = std::count_if(ranks.begin(), ranks.begin() + rank,
                                    [&](const NcclHello& other) { return other.host == own.host; });
  return own.devices > 0 ? static_cast<int>(before) % own.devices : 0;
}

std::vector<int> ranks_per_host(const std::vector<NcclHello>& ranks) {
  std::vector<std::pair<std::string, int>> hosts;
  for (const NcclHello& rank : ranks) {
    const auto at = std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) { return host.first == rank.host; });
    if (at == hosts.end())
      hosts.emplace_back(rank.host, 1);
    else
      ++at->second;
  }
  std::vector<int> counts;
  for (const auto& host : hosts) counts.push_back(host.second);
  return counts;
}

SharedGpu shared_gpu(int nccl_version, std::string_view multi_rank_variable) {
  const bool known = nccl_version >= nccl::version_code(2, 30, 0);
  return known && multi_rank_variable == "1" ? SharedGpu::allowed : SharedGpu::refused;
}

Result<void> gpus_differ(const std::vector<NcclHello>& ranks, const std::vector<std::string>& bus_ids) {
  std::map<std::pair<std::string, std::string>, std::size_t> owners;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (bus_ids[rank].empty()) continue;
    const auto [owner, is_new] = owners.try_emplace({ranks[rank].host, bus_ids[rank]}, rank);
    if (is_new) continue;
    return Error{
        "two ranks on one GPU",
        "(ranks " + std::to_string(owner->second) + " and " + std::to_string(rank) + " on " + bus_ids[rank] + ")",
        "NCCL " + nccl_version_text(ranks[rank].nccl_version) + " gives each rank a GPU of its own, this host shows " +
            std::to_string(ranks[rank].devices),
        "start as many ranks as there are GPUs (--ranks), or with NCCL 2.30 or newer set "
        "NCCL_MULTI_RANK_GPU_ENABLE=1"};
  }
  return {};
}

}  // namespace gradsync
