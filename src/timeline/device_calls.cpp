#include "src/timeline/device_calls.h"

#include <unordered_map>

namespace gradsync {
namespace {

bool is_call(const Event& event) {
  return event.source == Source::cupti && (event.kind == Kind::host_call || event.kind == Kind::host_sync);
}

}  // namespace

void place_device_calls(RankTimeline& rank) {
  std::unordered_map<std::uint32_t, LaneId> lane_of;
  for (const LaneInfo& lane : rank.lanes)  // the spool's own come before those of files
    lane_of.try_emplace(static_cast<std::uint32_t>(lane.tid), lane.id);
  std::unordered_map<std::uint64_t, Event*> waiting;  // records of waiting, by correlation
  for (Event& event : rank.events)
    if (is_call(event) && event.sequence == 0 && event.correlation != 0) waiting.emplace(event.correlation, &event);
  for (Event& event : rank.events) {
    if (!is_call(event) || event.sequence == 0) continue;
    if (const auto lane = lane_of.find(event.sequence); lane != lane_of.end()) event.lane = lane->second;
    event.sequence = 0;
    const auto record = waiting.find(event.correlation);
    if (record == waiting.end()) continue;
    event.kind = Kind::host_sync;
    record->second->kind = Kind::mark;
  }
}

}  // namespace gradsync
