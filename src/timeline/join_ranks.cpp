#include "src/timeline/join_ranks.h"

#include <algorithm>

#include "src/base/statistics.h"

namespace gradsync {
namespace {

constexpr double kWaitThatMatters = 0.01;           // of the median step
constexpr Nanoseconds kWaitWithoutSteps = 100'000;  // where no step was found

Nanoseconds wait_that_matters(const std::vector<RankTimeline>& ranks) {
  std::vector<double> steps;
  for (const RankTimeline& rank : ranks)
    for (const StepSpan& step : rank.steps)
      if (!step.warm_up) steps.push_back(static_cast<double>(step.end - step.start));
  const auto typical = median(steps);
  return typical ? static_cast<Nanoseconds>(kWaitThatMatters * *typical) : kWaitWithoutSteps;
}

// How far each value is above the median of the others; sorted once for all members.
class AgainstOthers {
 public:
  explicit AgainstOthers(std::vector<Nanoseconds> values) : sorted_(std::move(values)) {
    std::sort(sorted_.begin(), sorted_.end());
  }
  Nanoseconds least() const { return sorted_.front(); }
  Nanoseconds most() const { return sorted_.back(); }
  Nanoseconds above(Nanoseconds value) const {
    const auto own =
        static_cast<std::size_t>(std::lower_bound(sorted_.begin(), sorted_.end(), value) - sorted_.begin());
    const auto other = [&](std::size_t i) { return sorted_[i < own ? i : i + 1]; };
    const std::size_t others = sorted_.size() - 1;
    const Nanoseconds low = other((others - 1) / 2), high = other(others / 2);
    return value - (low + (high - low) / 2);
  }

 private:
  std::vector<Nanoseconds> sorted_;
};

void share(const MatchedCollective& collective, ClockState clocks, Nanoseconds matters,
           std::vector<RankTimeline>& ranks) {
  std::vector<Nanoseconds> starts, durations;
  for (const CollectiveMember& member : collective.members) {
    starts.push_back(member.time.start);
    durations.push_back(member.time.end - member.time.start);
  }
  const AgainstOthers arrival(std::move(starts)), length(std::move(durations));
  for (const CollectiveMember& member : collective.members) {
    RankTimeline& rank = ranks[member.rank];
    const Event& event = rank.events[member.event];
    const Nanoseconds duration = member.time.end - member.time.start;
    SharedCollective shared;
    shared.event = member.event;
    shared.group = event.group;
    shared.members = static_cast<std::int32_t>(collective.members.size());
    shared.complete = collective.complete;
    shared.late_by_length = -length.above(duration);
    shared.shortest = duration == length.least();
    const bool one_clock = clocks != ClockState::apart;
    shared.last = one_clock ? member.time.start == arrival.most() : shared.shortest;
    shared.late = one_clock ? arrival.above(member.time.start) : shared.late_by_length;
    const Nanoseconds wait = one_clock ? arrival.most() - member.time.start : duration - length.least();
    shared.peers_ready = event.start + std::clamp<Nanoseconds>(wait, 0, event.duration());
    shared.somebody_waited = length.most() - length.least() > matters;
    rank.shared.push_back(shared);
  }
}

}  // namespace

JoinedRanks join_ranks(std::vector<RankTimeline>& ranks) {
  CollectiveMatching matching = match_collectives(ranks);
  JoinedRanks joined;
  joined.clocks = align_clocks(ranks, matching);
  joined.events = matching.events;
  joined.cut = matching.cut;
  joined.differ = matching.differ;
  const Nanoseconds matters = wait_that_matters(ranks);
  for (const MatchedCollective& collective : matching.collectives) {
    if (collective.ends == Ends::of_backward) continue;
    share(collective, joined.clocks.state, matters, ranks);
    ++joined.collectives;
  }
  for (RankTimeline& rank : ranks)
    std::sort(rank.shared.begin(), rank.shared.end(),
              [](const SharedCollective& a, const SharedCollective& b) { return a.event < b.event; });
  return joined;
}

}  // namespace gradsync
