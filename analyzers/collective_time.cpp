#include "analyzers/collective_time.h"

#include <algorithm>

namespace gradsync {
namespace {

bool is_proxy(std::string_view name) { return name == "nccl.proxy_send" || name == "nccl.proxy_receive"; }

}  // namespace

std::string_view to_string(TimeSource source) {
  switch (source) {
    case TimeSource::kernel:
      return "kernel";
    case TimeSource::kernel_channels:
      return "nccl_kernel_channels";
    case TimeSource::cuda_events:
      return "cuda_events";
    case TimeSource::proxy:
      return "nccl_proxy";
    case TimeSource::completion:
      return "completion";
    case TimeSource::host_bound:
      return "host_bound";
    case TimeSource::none:
      break;
  }
  return "none";
}

CollectiveTimes::CollectiveTimes(const RankTimeline& rank) : rank_(rank) {
  for (const Event& event : rank.events) {
    if (event.on_stream() || event.end <= event.start) continue;
    if (event.kind == Kind::host_sync || event.kind == Kind::wait)
      waits_[event.lane].push_back({event.start, event.end});
    if (event.kind != Kind::range || event.source != Source::nccl_plugin || event.correlation == 0) continue;
    if (!is_proxy(rank.name(event))) continue;
    const auto [known, first] = proxy_.try_emplace(event.correlation, Interval{event.start, event.end});
    if (first) continue;
    known->second.start = std::min(known->second.start, event.start);
    known->second.end = std::max(known->second.end, event.end);
  }
}

CollectiveTime CollectiveTimes::of(const Event& collective) const {
  if (collective.on_stream()) return {TimeSource::kernel, collective.duration()};
  if (const auto told = rank_.integer(collective, "gpu_ns"); told && *told > 0) {
    const bool channels = rank_.text(collective, "gpu_ns_from") == to_string(TimeSource::kernel_channels);
    return {channels ? TimeSource::kernel_channels : TimeSource::cuda_events, *told};
  }
  if (const auto proxy = proxy_.find(collective.reference); proxy != proxy_.end())
    return {TimeSource::proxy, proxy->second.end - proxy->second.start};
  if (!collective.has(kFlagExtrapolated) && collective.source == Source::torch_hook &&
      collective.end > collective.start)
    return {TimeSource::completion, collective.duration()};
  if (const auto bound = until_wait(collective)) return {TimeSource::host_bound, *bound};
  return {};
}

// The first wait of its thread behind the call ends after the device's work, unless it waited for something else.
std::optional<Nanoseconds> CollectiveTimes::until_wait(const Event& call) const {
  const auto thread = waits_.find(call.lane);
  if (thread == waits_.end()) return std::nullopt;
  const auto next = std::lower_bound(thread->second.begin(), thread->second.end(), call.end,
                                     [](const Interval& wait, Nanoseconds end) { return wait.start < end; });
  if (next == thread->second.end()) return std::nullopt;
  return next->end - call.start;
}

std::string_view CollectiveTimes::bytes_from(const Event& collective) const {
  if (collective.bytes <= 0) return "none";
  const std::string_view told = rank_.text(collective, "bytes_from");
  return told.empty() ? to_string(collective.source) : told;
}

}  // namespace gradsync
