#include "analyzers/kernel_phases.h"

#include <algorithm>

namespace gradsync {
namespace {

// Ranges that somebody put there on purpose; a profiler's operators get theirs from names that models use as well.
bool is_deliberate(const Event& event) { return event.source == Source::torch_hook || event.source == Source::nvtx; }

bool is_steady(Phase phase) { return phase == Phase::forward || phase == Phase::backward || phase == Phase::optimizer; }

}  // namespace

KernelPhases::KernelPhases(const RankTimeline& rank, Interval window) {
  for (const LaneInfo& lane : rank.lanes)
    if (lane.tid != 0) threads_[lane.id] = static_cast<std::uint64_t>(lane.tid);
  const RankTimeline::Range range = rank.beginning_in(window);
  for (std::size_t i = range.first; i < range.last; ++i) {
    const Event& event = rank.events[i];
    if (event.on_stream() || event.kind != Kind::range || event.phase == Phase::none || !is_deliberate(event)) continue;
    const Range one{{event.start, event.end}, event.phase};
    by_thread_[thread_of(event.lane)].push_back(one);
    if (is_steady(event.phase)) steady_.push_back(one);
  }
  if (by_thread_.empty()) return;  // a trace of operators alone: its launches need no table
  for (std::size_t i = range.first; i < range.last; ++i) {
    const Event& event = rank.events[i];
    if (event.kind == Kind::host_call && of_device(event.source) && event.correlation != 0)
      launches_[event.correlation] = {thread_of(event.lane), event.start};
  }
}

Phase KernelPhases::of(const Event& kernel) const {
  const auto launch = launches_.find(kernel.correlation);
  if (kernel.correlation == 0 || launch == launches_.end()) return Phase::none;
  const auto thread = by_thread_.find(launch->second.thread);
  const Phase own = thread == by_thread_.end() ? Phase::none : innermost(thread->second, launch->second.at);
  return own != Phase::none ? own : innermost(steady_, launch->second.at);
}

std::uint64_t KernelPhases::thread_of(LaneId lane) const {
  constexpr std::uint64_t kLane = std::uint64_t{1} << 63;
  const auto known = threads_.find(lane);
  return known != threads_.end() ? known->second : kLane | static_cast<std::uint32_t>(lane);
}

// Ranges of a thread nest: the last one that began before and has not ended is the innermost.
Phase KernelPhases::innermost(const std::vector<Range>& ranges, Nanoseconds at) {
  constexpr std::size_t kMostBack = 256;
  auto next = std::upper_bound(ranges.begin(), ranges.end(), at,
                               [](Nanoseconds time, const Range& range) { return time < range.interval.start; });
  for (std::size_t back = 0; next != ranges.begin() && back < kMostBack; ++back) {
    --next;
    if (at < next->interval.end) return next->phase;
  }
  return Phase::none;
}

}  // namespace gradsync
