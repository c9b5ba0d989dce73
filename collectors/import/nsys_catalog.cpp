#include "collectors/import/nsys_catalog.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace gradsync {
namespace {

constexpr std::size_t kMostRanks = 64;  // each reads the tables once
constexpr std::size_t kMostPairs = 1 << 16;

using Pair = std::pair<std::optional<std::int64_t>, std::int64_t>;  // process, device

void count_pairs(const NsysDatabase& database, std::string_view table, std::map<Pair, std::int64_t>& pairs) {
  constexpr std::array<std::string_view, 2> columns{"globalPid", "deviceId"};
  const bool names_device = database.has(table, "deviceId");
  NsysRows rows = database.rows(table, columns);
  std::int64_t* last = nullptr;
  Pair last_pair;
  while (rows.next()) {
    const std::optional<std::int64_t> device = rows.integer(1);
    if (!device && names_device) continue;
    const Pair pair{rows.integer(0), device.value_or(0)};
    if (last == nullptr || pair != last_pair) {
      if (pairs.size() >= kMostPairs && !pairs.contains(pair)) continue;
      last = &pairs[pair];
      last_pair = pair;
    }
    ++*last;
  }
}

// A row that does not tell its process is nobody's where others tell it.
void drop_nobody(std::map<Pair, std::int64_t>& pairs) {
  const bool told =
      std::any_of(pairs.begin(), pairs.end(), [](const auto& entry) { return entry.first.first.has_value(); });
  if (told) std::erase_if(pairs, [](const auto& entry) { return !entry.first.first; });
}

std::vector<NsysRank> ranks_by_ranges(const NsysDatabase& database) {
  constexpr std::array<std::string_view, 2> columns{"globalTid", "eventType"};
  std::set<std::int64_t> processes;
  NsysRows rows = database.rows(kNvtxTable, columns);
  while (rows.next() && processes.size() <= kMostPairs) {
    const std::optional<std::int64_t> tid = rows.integer(0);
    if (tid && is_nvtx_range(rows.integer(1).value_or(0))) processes.insert(process_of(*tid));
  }
  std::vector<NsysRank> ranks;
  for (const std::int64_t process : processes) ranks.push_back({process, {}, 0, false, {}});
  return ranks;
}

// Which device a launch was for is known by its kernel.
void find_other_threads(const NsysDatabase& database, std::int64_t process, const std::vector<NsysRank*>& ranks) {
  constexpr std::array<std::string_view, 3> kernel_columns{"globalPid", "deviceId", "correlationId"};
  std::unordered_map<std::int64_t, std::int64_t> device_of;
  NsysRows kernels = database.rows(kKernelTable, kernel_columns);
  while (kernels.next())
    if (kernels.integer(0).value_or(process) == process && kernels.integer(1) && kernels.integer(2))
      device_of[*kernels.integer(2)] = *kernels.integer(1);

  constexpr std::array<std::string_view, 2> call_columns{"globalTid", "correlationId"};
  std::map<std::int64_t, std::set<std::int64_t>> devices_of_thread;
  NsysRows calls = database.rows(kRuntimeTable, call_columns);
  while (calls.next()) {
    const std::optional<std::int64_t> tid = calls.integer(0), correlation = calls.integer(1);
    if (!tid || !correlation || process_of(*tid) != process) continue;
    const auto device = device_of.find(*correlation);
    if (device != device_of.end()) devices_of_thread[*tid].insert(device->second);
  }
  for (NsysRank* rank : ranks)
    for (const auto& [tid, devices] : devices_of_thread)
      if (!devices.contains(*rank->device)) rank->other_threads.insert(tid);
}

void keep_the_largest(NsysCatalog& catalog) {
  if (catalog.ranks.size() <= kMostRanks) return;
  std::stable_sort(catalog.ranks.begin(), catalog.ranks.end(),
                   [](const NsysRank& a, const NsysRank& b) { return a.kernels > b.kernels; });
  catalog.ranks_left_out = catalog.ranks.size() - kMostRanks;
  catalog.ranks.resize(kMostRanks);
  std::sort(catalog.ranks.begin(), catalog.ranks.end(), [](const NsysRank& a, const NsysRank& b) {
    return std::pair(a.process, a.device) < std::pair(b.process, b.device);
  });
}

}  // namespace

NsysCatalog find_ranks(const NsysDatabase& database) {
  std::map<Pair, std::int64_t> pairs;
  count_pairs(database, kKernelTable, pairs);
  count_pairs(database, kGraphTable, pairs);
  drop_nobody(pairs);
  NsysCatalog catalog;
  catalog.has_kernels = !pairs.empty();
  for (const auto& [pair, kernels] : pairs) catalog.ranks.push_back({pair.first, pair.second, kernels, false, {}});
  if (pairs.empty()) catalog.ranks = ranks_by_ranges(database);
  keep_the_largest(catalog);
  std::map<std::int64_t, std::vector<NsysRank*>> by_process;
  for (NsysRank& rank : catalog.ranks)
    if (rank.process && rank.device) by_process[*rank.process].push_back(&rank);
  std::set<std::optional<std::int64_t>> processes;
  for (const NsysRank& rank : catalog.ranks) processes.insert(rank.process);
  catalog.one_process = processes.size() == 1;
  for (const auto& [process, ranks] : by_process) {
    if (ranks.size() == 1) continue;
    for (NsysRank* rank : ranks) rank->shares_process = true;
    find_other_threads(database, process, ranks);
  }
  return catalog;
}

}  // namespace gradsync
