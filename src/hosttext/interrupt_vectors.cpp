#include "src/hosttext/interrupt_vectors.h"

#include <regex>
#include <vector>

namespace gradsync {
namespace {

struct Naming {
  const char* pattern;  // of the whole name; the first group is the device
  VectorRole role;
  const char* device_prefix;  // before the group
};

// Asked in order. Names are those of the drivers in Linux; `ethX` stands for any interface name.
constexpr Naming kNamings[] = {
    // mlx5_core and mlx4_core: completion vectors carry the queues of netdev and RDMA alike.
    {R"(mlx5_comp\d+@pci:(.+))", VectorRole::queue, "mlx5@"},
    {R"(mlx5_\w+@pci:(.+))", VectorRole::control, "mlx5@"},
    {R"(mlx4-comp-\d+@pci:(.+))", VectorRole::queue, "mlx4@"},
    {R"(mlx4-\w+@pci:(.+))", VectorRole::control, "mlx4@"},
    // Cloud devices: ena, efa, gve, mana.
    {R"((ena|efa)-mgmnt@pci:.+)", VectorRole::control, ""},
    {R"(efa-comp\d+@pci:(.+))", VectorRole::queue, "efa@"},
    {R"(gve-ntfy-(?:blk|block)\d+@pci:(.+))", VectorRole::queue, "gve@"},
    {R"(gve-mgmnt@pci:(.+))", VectorRole::control, "gve@"},
    {R"(mana_q\d+@pci:(.+))", VectorRole::queue, "mana@"},
    {R"(mana_hwc@pci:(.+))", VectorRole::control, "mana@"},
    // Intel: "ice-0000:01:00.1:ctrl-TxRx-0" and ":misc" before the queues.
    {R"((?:ice|i40e|iavf|ixgbe)-([0-9a-f:.]+):[\w-]+)", VectorRole::control, ""},
    {R"(irdma-([0-9a-f:.]+)-CEQ-\d+)", VectorRole::queue, "irdma@"},
    {R"(irdma-([0-9a-f:.]+)-\w+)", VectorRole::control, "irdma@"},
    {R"((?:ice|i40e|iavf|bnxt_en|hns3)-(.+)-(?:TxRx|rx|tx|Rx|Tx)-\d+)", VectorRole::queue, ""},
    // ixgbe, igb, igc, bnxt, hns3: ethX-TxRx-N; ena: ethX-Tx-Rx-N; tg3: ethX-rx-N, ethX-tx-N.
    {R"((.+?)-(?:TxRx|Tx-Rx|rxtx|rx|tx|Rx|Tx|fp)-?\d+)", VectorRole::queue, ""},
    {R"(bnxt_re-(.+)-nq\d+)", VectorRole::queue, "bnxt_re@"},
    {R"(hfi1_(\d+)\s+(?:sdma|kctxt|receive ctxt)\s*\d+.*)", VectorRole::queue, "hfi1_"},
    // cxgb4: "ethX (queue 3)"; mlx4_en: ethX-3; be2net: ethX-q3.
    {R"((\w+) \(queue \d+\))", VectorRole::queue, ""},
    {R"(((?:eth|en|ib)\w*)-q?\d+)", VectorRole::queue, ""},
    {R"((nvme\d+)q0)", VectorRole::control, ""},
    {R"((nvme\d+)q\d+)", VectorRole::queue, ""},
    {R"((virtio\d+)-(?:config|control|ctrl|event|cursor|stats|inflate|deflate|reporting_vq))", VectorRole::control, ""},
    {R"((virtio\d+)-.+)", VectorRole::queue, ""},
};

struct Compiled {
  std::regex pattern;
  VectorRole role;
  const char* device_prefix;
};

const std::vector<Compiled>& compiled() {
  static const std::vector<Compiled> all = [] {
    std::vector<Compiled> list;
    for (const Naming& naming : kNamings)
      list.push_back({std::regex(naming.pattern, std::regex::optimize), naming.role, naming.device_prefix});
    return list;
  }();
  return all;
}

}  // namespace

InterruptVector interrupt_vector(std::string_view handlers) {
  constexpr std::size_t kLongest = 128;  // no driver's name is longer, and std::regex recurses for each character
  const bool shared = handlers.find(", ") != std::string_view::npos;
  if (!shared && handlers.size() <= kLongest) {
    std::match_results<std::string_view::const_iterator> found;
    for (const Compiled& naming : compiled())
      if (std::regex_match(handlers.begin(), handlers.end(), found, naming.pattern))
        return {naming.device_prefix + found[1].str(), naming.role};
  }
  return {std::string(handlers), VectorRole::other};
}

}  // namespace gradsync
