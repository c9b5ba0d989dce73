#include "collectors/import/nccl_debug.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "collectors/import/collective.h"
#include "collectors/import/decimal.h"
#include "collectors/import/nccl_sweep.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostNames = 1024, kMostChoices = 20000, kLongestName = 96;

std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return low;
}

std::string upper(std::string_view text) {
  std::string up(text);
  std::transform(up.begin(), up.end(), up.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return up;
}

std::string_view behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + key.size());
}

std::int64_t number_behind(std::string_view text, std::string_view key) {
  const std::vector<std::string_view> words = split_words(behind(text, key).substr(0, 32));
  return words.empty() ? 0 : integer_from(words[0]).value_or(0);
}

// NCCL names its networks IB, Socket, and plugins as they call themselves ("AWS Libfabric", "IBext_v8", "RoCE").
std::string network_kind(std::string_view name) {
  std::string low = lower(name.substr(0, kLongestName));
  if (low.starts_with("ib") || low.find("roce") != std::string::npos) return "ib";
  if (low.starts_with("socket")) return "socket";
  if (low.find("libfabric") != std::string::npos || low.find("ofi") != std::string::npos) return "libfabric";
  return low;
}

// "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:…" → mlx5_0, mlx5_1; "[0]eth0:10.0.0.1<0>" → eth0.
std::vector<std::string> interfaces_in(std::string_view list) {
  std::vector<std::string> names;
  list = list.substr(0, list.find(';'));
  for (const std::string_view word : split_words(list.substr(0, 4096))) {
    const std::size_t close = word.find(']');
    if (word.front() != '[' || close == std::string_view::npos || close + 1 == word.size()) continue;
    const std::string_view name = word.substr(close + 1);
    names.emplace_back(name.substr(0, name.find(':')));
  }
  return names;
}

// Older versions print numbers; those that mean the same in every version.
std::string algorithm_name(std::string_view word) {
  constexpr std::array<std::string_view, 7> kNames{"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                                   "NVLS_TREE", "PAT"};
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '6')
    return std::string(kNames[static_cast<std::size_t>(word[0] - '0')]);
  return upper(word.substr(0, kLongestName));
}

std::string protocol_name(std::string_view word) {
  constexpr std::array<std::string_view, 3> kNames{"LL", "LL128", "SIMPLE"};
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '2')
    return std::string(kNames[static_cast<std::size_t>(word[0] - '0')]);
  return upper(word.substr(0, kLongestName));
}

std::string list(const std::set<std::string>& names) {
  constexpr std::size_t kNamed = 16;
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == kNamed) return text + ", and " + std::to_string(names.size() - kNamed) + " more";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

void NcclDebug::keep(std::set<std::string>& names, std::string_view name) {
  if (name.empty()) return;
  if (names.size() < kMostNames)
    names.emplace(name.substr(0, kLongestName));
  else
    ++dropped_;
}

void NcclDebug::line(const NcclLine& line) {
  ++lines_;
  if (trim(line.before).empty()) keep(hosts_, line.host);
  if (line.level == "WARN") {
    if (warnings_++ == 0) first_warning_ = escape_controls(line.text.substr(0, 200));
  }
  information(line.text);
}

void NcclDebug::plain_line(std::string_view text) {
  if (const std::string_view version = nccl_version_in(text); !version.empty()) {
    keep(versions_, version);
    keep(libraries_, text.find("RCCL version") != std::string_view::npos ? "rccl" : "nccl");
  }
}

void NcclDebug::information(std::string_view text) {
  if (text.find("CCL version ") != std::string_view::npos) plain_line(text);
  if (text.find(" Bytes -> Algo ") != std::string_view::npos) choice(text);
  if (text.find(" via ") != std::string_view::npos) channel(text);
  if (text.starts_with("NET/") || text.starts_with("Using network ") || text.starts_with("NCCL_IB_DISABLE"))
    network(text);
  if (text.find("nranks ") != std::string_view::npos || text.find("nRanks ") != std::string_view::npos)
    communicator(text);
  if (text.starts_with("Bootstrap")) {
    const std::string_view used = behind(text, "Using ");
    keep(bootstrap_, used.starts_with('[')
                         ? used.substr(used.find(']') + 1).substr(0, used.find(':') - used.find(']') - 1)
                         : used.substr(0, used.find(':')));
  }
  const std::size_t called = text.find(": opCount ");
  if (called != std::string_view::npos) keep(operations_, canonical_collective(text.substr(0, called)));
}

// "comm 0x… rank 0 nRanks 16 nNodes 2 localRanks 8 …", "ncclCommInitRank comm 0x… rank 0 nranks 16 cudaDev 0 …"
void NcclDebug::communicator(std::string_view text) {
  most_ranks_ = std::max({most_ranks_, number_behind(text, "nranks "), number_behind(text, "nRanks ")});
  most_nodes_ = std::max(most_nodes_, number_behind(text, "nNodes "));
}

// "Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA", "… via P2P/direct pointer", "… via SHM/direct/direct"
void NcclDebug::channel(std::string_view text) {
  if (!text.starts_with("Channel ") && !text.starts_with("Ring ") && text.find(" -> ") == std::string_view::npos)
    return;
  const std::string_view via = behind(text, " via ");
  if (via.starts_with("NET/")) {
    const std::string_view name = via.substr(4, via.find('/', 4) - 4);
    keep(transports_, network_kind(name));
    keep(networks_, network_kind(name));
    ++network_channels_;
    if (via.find("/GDRDMA") != std::string_view::npos) ++direct_channels_;
  } else if (via.starts_with("P2P") || via.starts_with("direct pointer")) {
    keep(transports_, "p2p");
  } else if (via.starts_with("SHM") || via.starts_with("direct shared memory")) {
    keep(transports_, "shm");
  } else if (via.starts_with("COLLNET") || via.starts_with("CollNet")) {
    keep(transports_, "collnet");
  }
}

void NcclDebug::network(std::string_view text) {
  if (text.starts_with("NET/IB : No device found")) no_device_ = true;
  if (text.starts_with("NCCL_IB_DISABLE set") && text.find("to 1") != std::string_view::npos) disabled_ = true;
  if (text.starts_with("Using network ")) keep(networks_, network_kind(trim(text.substr(14))));
  const bool ib = text.starts_with("NET/IB");
  const std::string_view used = behind(text, "Using ");
  if (!ib && !text.starts_with("NET/Socket")) return;
  for (const std::string& name : interfaces_in(used)) keep(ib ? devices_ : sockets_, name);
}

// "AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}"; until 2.24 with numbers, the longest
// form without the operation: "8388608 Bytes -> Algo 1 proto 2 time 112.3".
void NcclDebug::choice(std::string_view text) {
  const std::size_t at = text.find(" Bytes -> Algo ");
  std::string_view front = text.substr(0, at);
  const std::size_t colon = front.rfind(": ");
  const std::string_view operation =
      colon == std::string_view::npos ? "" : canonical_collective(front.substr(0, colon));
  if (colon != std::string_view::npos) front = front.substr(colon + 2);
  const auto bytes = integer_from(trim(front));
  const std::vector<std::string_view> words = split_words(text.substr(at + 15, 256));
  if (!bytes || words.size() < 3 || words[1] != "proto") return;
  std::int64_t channels = -1;
  const std::string_view range = behind(text, "{Lo..Hi}={");
  const std::size_t dots = range.find("..");
  if (dots != std::string_view::npos) {
    const auto low = integer_from(range.substr(0, dots));
    const auto high = integer_from(range.substr(dots + 2, range.find('}') - dots - 2));
    if (low && high && *high >= *low) channels = *high - *low + 1;
  }
  const Choice made{std::string(operation), *bytes, algorithm_name(words[0]), protocol_name(words[2]), channels};
  const auto known = choices_.find(made);
  if (known != choices_.end())
    ++known->second;
  else if (choices_.size() < kMostChoices)
    choices_.emplace(made, 1);
  else
    ++dropped_;
}

void NcclDebug::report(Facts& facts, SeriesSet& series) const {
  const auto tell = [&](const char* key, const std::string& value) {
    if (!value.empty()) facts[key] = value;
  };
  tell("nccl.version", list(versions_));
  tell("nccl.library", list(libraries_));
  tell("nccl.transport", list(transports_));
  tell("nccl.network", list(networks_));
  tell("nccl.hosts", list(hosts_));
  if (most_ranks_ > 0) tell("nccl.ranks", std::to_string(most_ranks_));
  if (most_nodes_ > 0) tell("nccl.nodes", std::to_string(most_nodes_));
  if (network_channels_ > 0)
    tell("nccl.gdrdma", direct_channels_ == 0 ? "no" : direct_channels_ == network_channels_ ? "yes" : "partly");
  tell("nccl.rdma_device", !devices_.empty() ? "found" : disabled_ ? "disabled" : no_device_ ? "none found" : "");
  const bool socket = networks_.contains("socket");
  tell("nccl.interfaces", list(socket && !sockets_.empty() ? sockets_ : !devices_.empty() ? devices_ : bootstrap_));
  if (warnings_ > 0) {
    tell("nccl.warnings", std::to_string(warnings_));
    tell("nccl.first_warning", first_warning_);
  }
  if (choices_.empty()) return;
  Series& table = series["nccl_choices"];
  table.name = "nccl_choices";
  table.columns = {"operation", "bytes", "algorithm", "protocol", "channels", "count"};
  // Where the line does not name the operation it is known only when the whole log has one.
  const std::string only = operations_.size() == 1 ? *operations_.begin() : "unknown";
  for (const auto& [choice, count] : choices_) {
    const auto& [operation, bytes, algorithm, protocol, channels] = choice;
    table.rows.push_back({operation.empty() ? only : operation, bytes, algorithm, protocol,
                          channels < 0 ? Cell(kUnknownNumber) : Cell(channels), count});
  }
}

}  // namespace gradsync
