#include "analyzers/collective_lateness.h"

#include <algorithm>
#include <optional>

#include "analyzers/rows.h"

namespace gradsync {
namespace {

constexpr std::string_view kTable = "collective_lateness";
constexpr std::int64_t kFewestCollectives = 3;

struct Counts {
  std::int64_t collectives = 0, last = 0, shortest = 0;
  Nanoseconds late = 0;
};

// Step that counts for a moment: nothing in the warm-up, nothing of an experiment's other side. Of a trace without steps all is one.
std::optional<std::size_t> slot_of(const RankTimeline& rank, Nanoseconds time) {
  if (rank.steps.empty()) return 0;
  const auto step = rank.step_at(time);
  return step && !rank.steps[*step].warm_up && rank.steps[*step].variant == 0 ? step : std::nullopt;
}

}  // namespace

void summarise_lateness(const RankTimeline& rank, Summary& summary) {
  std::map<NameId, std::map<std::size_t, Counts>> groups;
  for (const SharedCollective& shared : rank.shared) {
    const auto slot = slot_of(rank, rank.events[shared.event].start);
    if (!slot) continue;
    Counts& counts = groups[shared.group][*slot];
    if (!shared.somebody_waited) continue;
    ++counts.collectives;
    counts.shortest += shared.shortest;
    if (!shared.last) continue;
    ++counts.last;
    counts.late += std::max<Nanoseconds>(shared.late, 0);
  }
  if (groups.empty()) return;
  Series& table =
      summary.table(kTable, {"rank", "group", "step", "time_ns", "collectives", "last", "shortest", "late_ns"});
  for (const auto& [group, slots] : groups)
    for (const auto& [slot, counts] : slots) {
      const bool stepped = !rank.steps.empty();
      const Nanoseconds time =
          stepped ? rank.steps[slot].end - rank.steps[slot].start : rank.last_time() - rank.first_time();
      table.rows.push_back({std::int64_t{rank.rank}, std::string(rank.name(group)),
                            stepped ? rank.steps[slot].number : std::int64_t{0}, std::int64_t{time}, counts.collectives,
                            counts.last, counts.shortest, std::int64_t{counts.late}});
    }
}

std::map<int, std::vector<CollectiveLateness>> lateness_by_rank(const Summary& summary) {
  std::map<int, std::map<std::string, CollectiveLateness>> found;
  const Series* table = summary.find(kTable);
  if (table == nullptr) return {};
  for (const auto& row : table->rows) {
    const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
    const std::string& group = std::get<std::string>(row[1]);
    CollectiveLateness& one = found[static_cast<int>(cell(0))][group];
    one.group = group;
    one.time_ms += static_cast<double>(cell(3)) * 1e-6;
    one.collectives += cell(4);
    one.last += cell(5);
    one.shortest += cell(6);
    one.late_per_step_ms.push_back(static_cast<double>(cell(7)) * 1e-6);
    one.late_total_ms += one.late_per_step_ms.back();
  }
  std::map<int, std::vector<CollectiveLateness>> by_rank;
  for (auto& [rank, groups] : found) {
    for (auto& [name, one] : groups)
      if (one.collectives >= kFewestCollectives) by_rank[rank].push_back(std::move(one));
    if (by_rank.contains(rank))
      std::stable_sort(by_rank[rank].begin(), by_rank[rank].end(),
                       [](const auto& a, const auto& b) { return a.late_total_ms > b.late_total_ms; });
  }
  return by_rank;
}

}  // namespace gradsync
