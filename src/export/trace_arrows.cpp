#include "src/export/trace_arrows.h"

#include <algorithm>

#include "src/timeline/match_collectives.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostCalls = std::size_t{1} << 16;  // that wait for their kernel, per generation

}  // namespace

CollectiveArrows::CollectiveArrows(const std::vector<RankTimeline>& ranks) {
  for (const MatchedCollective& collective : match_collectives(ranks).collectives) {
    if (collective.ends == Ends::of_backward) continue;
    std::vector<CollectiveMember> members = collective.members;
    std::stable_sort(members.begin(), members.end(),
                     [](const CollectiveMember& a, const CollectiveMember& b) { return a.time.start < b.time.start; });
    ++arrows_;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const char phase = i == 0 ? 's' : i + 1 == members.size() ? 'f' : 't';
      points_.try_emplace(key(members[i].rank, members[i].event), ArrowPoint{arrows_, phase});
    }
  }
}

std::optional<ArrowPoint> CollectiveArrows::at(std::size_t rank, std::size_t event) const {
  const auto found = points_.find(key(rank, event));
  if (found == points_.end()) return std::nullopt;
  return found->second;
}

void LaunchArrows::call(std::uint64_t correlation, Track track, Nanoseconds at) {
  if (correlation == 0) return;
  if (calls_.size() >= kMostCalls) {
    older_ = std::move(calls_);
    calls_.clear();
  }
  calls_[correlation] = {track, at};
}

void LaunchArrows::work(std::uint64_t correlation, Track track, Nanoseconds at) {
  for (auto* generation : {&calls_, &older_}) {
    const auto found = generation->find(correlation);
    if (found == generation->end()) continue;
    ++drawn_;
    ++next_arrow_;
    draw_arrow(text_, {next_arrow_, 's'}, found->second.track, found->second.at, "launch");
    draw_arrow(text_, {next_arrow_, 'f'}, track, at, "launch");
    generation->erase(found);
    return;
  }
}

void draw_arrow(TraceText& text, ArrowPoint point, Track track, Nanoseconds at, std::string_view what) {
  text.open(point.phase, track, what);
  text.text("cat", what);
  text.number("id", point.arrow);
  if (point.phase == 'f') text.text("bp", "e");
  text.time("ts", at);
  text.close();
}

}  // namespace gradsync
