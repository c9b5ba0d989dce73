#include "collectors/fabric/nccl_connect.h"

#include <net/if.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "collectors/fabric/nccl_limit.h"
#include "src/base/host_name.h"

namespace gradsync {
namespace {

// First character of a word that is a failure, not an answer. Host names, bus ids and hex digits never begin with it.
constexpr char kFailure = '!';

std::string failure_word(const Error& error) { return kFailure + error.message(); }

// Hands in `mine` or the reason why there is none; gives what all ranks handed in, or the first failure among them.
Result<std::vector<std::string>> exchange(RankStore& store, const FabricPlace& place, const std::string& round,
                                          const Result<std::string>& mine) {
  auto words = store.exchange(round, mine ? *mine : failure_word(mine.error()), place.timeout_ms);
  if (!mine) return mine.error();
  if (!words) return words.error();
  for (std::size_t rank = 0; rank < words->size(); ++rank) {
    const std::string& word = (*words)[rank];
    if (!word.empty() && word[0] == kFailure)
      return Error{"rank " + std::to_string(rank) + " cannot take part", "", word.substr(1), ""};
  }
  return words;
}

std::string host_key() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return host_name() + "/" + boot;
}

Result<void> choose_interface(const std::string& name) {
  if (name.empty()) return {};
  if (if_nametoindex(name.c_str()) == 0)
    return Error{"no network interface", name, "", "ip -br link lists the interfaces of this host"};
  // "=": exactly this name, not all that begin with it. Nothing else runs yet in this process.
  setenv("NCCL_SOCKET_IFNAME", ("=" + name).c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  return {};
}

Result<std::vector<NcclHello>> say_hello(const NcclLibraries& libraries, const FabricPlace& place, RankStore& store) {
  Result<std::string> mine = std::string();
  const auto devices = count_devices(libraries.cuda);
  if (const auto chosen = choose_interface(place.interface_name); !chosen)
    mine = chosen.error();
  else if (!devices)
    mine = devices.error();
  else
    mine = to_words({host_key(), *devices, libraries.nccl.version});
  const auto words = exchange(store, place, "nccl.hello", mine);
  if (!words) return words.error();
  auto ranks = hellos_of(*words);
  if (!ranks) return ranks.error();
  if (auto same = same_versions(*ranks); !same) return same.error();
  return ranks;
}

Result<void> take_devices(const NcclLibraries& libraries, const FabricPlace& place, RankStore& store,
                          NcclConnection& connection) {
  auto device = CudaDevice::open(libraries.cuda, device_of(connection.ranks, place.rank));
  // A space keeps the word from being empty, and from looking like a failure.
  const auto bus_ids =
      exchange(store, place, "nccl.device", device ? Result<std::string>(" " + (*device)->bus_id()) : device.error());
  if (!bus_ids) return bus_ids.error();
  connection.device = std::move(*device);
  for (const std::string& word : *bus_ids) connection.bus_ids.push_back(word.substr(1));
  const char* multi_rank = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");  // NOLINT(concurrency-mt-unsafe)
  if (shared_gpu(libraries.nccl.version, multi_rank ? multi_rank : "") == SharedGpu::allowed) return {};
  return gpus_differ(connection.ranks, connection.bus_ids);
}

std::string to_hex(const nccl::UniqueId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : id.internal) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

Result<nccl::UniqueId> from_hex(const std::string& text) {
  nccl::UniqueId id{};
  if (text.size() != 2 * sizeof(id.internal))
    return Error{"no usable id of the communicator", "", "from rank 0: " + text, ""};
  for (std::size_t i = 0; i < sizeof(id.internal); ++i)
    id.internal[i] = static_cast<char>(std::strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16));
  return id;
}

Result<nccl::UniqueId> share_id(const NcclLibrary& library, const FabricPlace& place, RankStore& store) {
  nccl::UniqueId id{};
  if (place.rank == 0) {
    const nccl::Status status = library.call.get_unique_id(&id);
    const Error error = status == nccl::kSuccess ? Error{} : nccl_error(library, status, "NCCL does not start", "");
    if (auto set = store.set("nccl.id", status == nccl::kSuccess ? to_hex(id) : failure_word(error)); !set)
      return set.error();
    if (status != nccl::kSuccess) return error;
    return id;
  }
  const auto word = store.get("nccl.id", place.timeout_ms);
  if (!word) return word.error();
  if (!word->empty() && (*word)[0] == kFailure) return Error{"rank 0 cannot take part", "", word->substr(1), ""};
  return from_hex(*word);
}

struct Joined {
  nccl::Status status = nccl::kInternalError;
  nccl::Comm comm = nullptr;
};

Result<nccl::Comm> join_ranks(const NcclLibraries& libraries, const FabricPlace& place, const nccl::UniqueId& id,
                              int device) {
  const auto joined = call_within(place.timeout_ms, [libraries, place, id, device] {
    Joined own;
    if (libraries.cuda.call.set_device(device) == cuda::kSuccess)  // of each thread its own
      own.status = libraries.nccl.call.comm_init_rank(&own.comm, place.ranks, id, place.rank);
    return own;
  });
  const std::string what = "NCCL cannot connect " + std::to_string(place.ranks) + " ranks";
  if (!joined)
    return Error{what, "", "not finished after " + std::to_string(place.timeout_ms) + " ms",
                 "NCCL_DEBUG=INFO shows where it waits; --interface chooses the network that all hosts share"};
  if (joined->status != nccl::kSuccess) return nccl_error(libraries.nccl, joined->status, what, "");
  return joined->comm;
}

}  // namespace

Result<NcclConnection> connect_nccl(const NcclLibraries& libraries, const FabricPlace& place, RankStore& store) {
  NcclConnection connection;
  auto ranks = say_hello(libraries, place, store);
  if (!ranks) return ranks.error();
  connection.ranks = std::move(*ranks);
  if (auto taken = take_devices(libraries, place, store, connection); !taken) return taken.error();
  const auto id = share_id(libraries.nccl, place, store);
  if (!id) return id.error();
  const auto comm = join_ranks(libraries, place, *id, connection.device->index());
  if (!comm) return comm.error();
  connection.comm = *comm;
  return connection;
}

}  // namespace gradsync
