#include "collectors/import/lane_table.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "collectors/import/decimal.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

bool is_work(TraceCategory category) {
  return category == TraceCategory::none || category == TraceCategory::operation ||
         category == TraceCategory::user_annotation || category == TraceCategory::runtime;
}

// Thread ids of some profilers are hashes beyond 63 bits: their bits are kept.
std::int64_t thread_id(std::string_view tid) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(tid.data(), tid.data() + tid.size(), value);
  if (parsed.ec == std::errc{} && parsed.ptr == tid.data() + tid.size()) return static_cast<std::int64_t>(value);
  return integer_from(tid).value_or(0);
}

std::int64_t stream_number(const TraceEvent& event) {
  if (event.stream) return *event.stream;
  std::string_view tid = event.tid;
  if (tid.starts_with("stream ")) tid.remove_prefix(7);
  return integer_from(trim(tid)).value_or(0);
}

std::int64_t device_number(const TraceEvent& event) {
  if (event.device) return *event.device;
  return integer_from(event.pid).value_or(0);
}

}  // namespace

std::string LaneTable::key_of(const TraceEvent& event) {
  std::string key(event.pid);
  key += '\0';
  key += event.tid;
  return key;
}

LaneId LaneTable::host(const TraceEvent& event) {
  // Nearly always the thread of the event before.
  const bool same =
      last_host_ < hosts_.size() && hosts_[last_host_].tid == event.tid && hosts_[last_host_].pid == event.pid;
  if (!same) {
    const auto [slot, inserted] = host_ordinals_.try_emplace(key_of(event), 0);
    if (inserted) {
      slot->second = std::min(static_cast<std::uint32_t>(hosts_.size()), kMostLanes - 1);
      if (hosts_.size() < kMostLanes) hosts_.push_back({std::string(event.pid), std::string(event.tid)});
    }
    last_host_ = slot->second;
  }
  hosts_[last_host_].works |= is_work(event.category);
  return LaneId{last_host_};
}

LaneId LaneTable::device(const TraceEvent& event) {
  const std::pair<std::int64_t, std::int64_t> key{device_number(event), stream_number(event)};
  const auto [slot, inserted] = streams_.try_emplace(key);
  Stream& stream = slot->second;
  if (inserted) {
    const bool fits = key.second >= 0 && key.second < kMostLanes / 2;
    std::uint32_t ordinal = static_cast<std::uint32_t>(key.second);
    if (!fits || taken_.contains(ordinal)) ordinal = next_free_ < kMostLanes - 1 ? next_free_++ : kMostLanes - 1;
    taken_.insert(ordinal);
    stream = {key.first, key.second, ordinal, key_of(event)};
  }
  return LaneId{kStreamLaneBit | stream.ordinal};
}

void LaneTable::name(const TraceEvent& event) {
  if (!event.label.empty()) names_[key_of(event)] = std::string(trim(event.label));
}

void LaneTable::announce(EventSink& sink) const {
  const auto given_name = [this](const std::string& key) {
    const auto found = names_.find(key);
    return found == names_.end() ? std::string{} : found->second;
  };
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const std::string name = given_name(hosts_[i].pid + '\0' + hosts_[i].tid);
    sink.lane({LaneId{static_cast<std::uint32_t>(i)}, thread_id(hosts_[i].tid),
               name.empty() ? "thread " + hosts_[i].tid : name});
  }
  const bool several = devices() > 1;
  for (const auto& [key, stream] : streams_) {
    std::string name = given_name(stream.key);
    if (name.empty()) name = "stream " + std::to_string(stream.number);
    if (several) name = "device " + std::to_string(stream.device) + " " + name;
    sink.lane({LaneId{kStreamLaneBit | stream.ordinal}, stream.number, name});
  }
}

std::size_t LaneTable::host_processes() const {
  std::set<std::string> pids;
  for (const HostLane& lane : hosts_)
    if (lane.works) pids.insert(lane.pid);
  return pids.size();
}

std::size_t LaneTable::devices() const {
  std::set<std::int64_t> devices;
  for (const auto& [key, stream] : streams_) devices.insert(key.first);
  return devices.size();
}

}  // namespace gradsync
