#include "src/hosttext/interrupt_counts.h"

#include <algorithm>
#include <tuple>

namespace gradsync {
namespace {

// A counter that fell came round at 2^32 when it was in the upper half and is now in the lower one; else it began anew
// (another boot, a driver that was loaded again).
constexpr std::uint64_t kRound = std::uint64_t{1} << 32;
bool came_round(std::uint64_t before, std::uint64_t after) {
  return before >= kRound / 2 && before < kRound && after < kRound / 2;
}

// Numbers before words, and by value.
bool by_id(const InterruptCount& a, const InterruptCount& b) {
  if (a.device != b.device) return a.device;
  if (a.device && a.id.size() != b.id.size()) return a.id.size() < b.id.size();
  return std::tie(a.id, a.handlers, a.cpu) < std::tie(b.id, b.handlers, b.cpu);
}

}  // namespace

void InterruptCounts::add(const InterruptSnapshot& snapshot) {
  if (snapshots_++ == 0) first_at_ = snapshot.at;
  last_at_ = snapshot.at;
  for (const InterruptRow& row : snapshot.rows) {
    const auto [found, is_new] = lines_.try_emplace({row.id, row.handlers});
    Line& line = found->second;
    line.device = row.device;
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      const int cpu = snapshot.cpus[i];
      if (!is_new && cpus_.contains(cpu)) compare(line, cpu, row.counts[i]);
      if (row.counts[i] > 0)
        line.last[cpu] = row.counts[i];
      else
        line.last.erase(cpu);
    }
  }
  cpus_ = {snapshot.cpus.begin(), snapshot.cpus.end()};
}

void InterruptCounts::compare(Line& line, int cpu, std::uint64_t now) {
  const auto known = line.last.find(cpu);
  const std::uint64_t before = known == line.last.end() ? 0 : known->second;
  if (before == 0 && now == 0) return;
  ++compared_;
  if (now > before) {
    line.sum[cpu] += now - before;
  } else if (now < before && came_round(before, now)) {
    line.sum[cpu] += now + kRound - before;
    ++wrapped_;
  } else if (now < before) {
    ++backwards_;
  }
}

std::optional<double> InterruptCounts::seconds() const {
  if (!first_at_ || !last_at_) return std::nullopt;
  return seconds_between(*first_at_, *last_at_);
}

std::vector<InterruptCount> InterruptCounts::between() const {
  std::vector<InterruptCount> counts;
  for (const auto& [key, line] : lines_) {
    InterruptCount count{key.first, key.second, line.device, {}, 0, 0};
    if (line.device) count.vector = interrupt_vector(key.second);
    for (const auto& [cpu, sum] : line.sum) {
      count.cpu = cpu;
      count.count = sum;
      counts.push_back(count);
    }
    if (!line.sum.empty() || line.last.empty() || count.vector.role != VectorRole::queue) continue;
    count.cpu = std::max_element(line.last.begin(), line.last.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->first;
    counts.push_back(count);
  }
  std::sort(counts.begin(), counts.end(), by_id);
  return counts;
}

std::vector<InterruptCount> InterruptCounts::since_boot() const {
  std::vector<InterruptCount> counts;
  for (const auto& [key, line] : lines_) {
    InterruptCount count{key.first, key.second, line.device, {}, 0, 0};
    if (line.device) count.vector = interrupt_vector(key.second);
    if (line.last.empty() && !cpus_.empty()) {
      count.cpu = *cpus_.begin();
      counts.push_back(count);
    }
    for (const auto& [cpu, total] : line.last) {
      count.cpu = cpu;
      count.count = total;
      counts.push_back(count);
    }
  }
  std::sort(counts.begin(), counts.end(), by_id);
  return counts;
}

}  // namespace gradsync
