// How many bytes a collective carried and how long the device worked on it: by the best source that the recording has,
// and by which. Best first:
//
//   size      NCCL's range → arguments of its call → its profiler plug-in → the framework's hook, or a profiler's trace
//   time      kernel → channels of the kernel → CUDA events around the call → network operations of the proxy thread →
//             from the call until its thread waited for the device: no more than that
//
// Several sources of one call were made one event before (fold_nccl_calls.h, device_link.h), which kept the first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/timeline/rank_timeline.h"

namespace gradsync {

enum class TimeSource : std::uint8_t { kernel, kernel_channels, cuda_events, proxy, completion, host_bound, none };
std::string_view to_string(TimeSource source);
// The time is no measurement of the work, but what it cannot exceed.
constexpr bool is_bound(TimeSource source) { return source == TimeSource::host_bound; }

struct CollectiveTime {
  TimeSource source = TimeSource::none;
  Nanoseconds duration = 0;
};

class CollectiveTimes {
 public:
  explicit CollectiveTimes(const RankTimeline& rank);
  CollectiveTime of(const Event& collective) const;
  // Word for the source of its bytes; "none" where nothing told them.
  std::string_view bytes_from(const Event& collective) const;

 private:
  std::optional<Nanoseconds> until_wait(const Event& call) const;

  const RankTimeline& rank_;
  std::unordered_map<std::uint64_t, Interval> proxy_;  // by reference of the collective
  std::map<LaneId, std::vector<Interval>> waits_;      // for the device, by thread, by start
};

}  // namespace gradsync
