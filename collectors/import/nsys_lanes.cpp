#include "collectors/import/nsys_lanes.h"

#include <algorithm>
#include <array>

namespace gradsync {
namespace {

constexpr std::uint32_t kUnknownThread = NsysLanes::kMostLanes - 1;
constexpr std::uint32_t kLastThread = NsysLanes::kMostLanes - 2;

}  // namespace

LaneId NsysLanes::thread(std::int64_t global_tid) {
  if (any_thread_ && global_tid == last_thread_) return last_thread_lane_;
  const auto next = static_cast<std::uint32_t>(std::min<std::size_t>(threads_.size(), kLastThread));
  const bool full = threads_.size() >= kMostLanes;
  const auto found = threads_.find(global_tid);
  std::uint32_t ordinal = next;
  if (found != threads_.end())
    ordinal = found->second;
  else if (!full)
    threads_.emplace(global_tid, next);
  any_thread_ = true;
  last_thread_ = global_tid;
  return last_thread_lane_ = LaneId{ordinal};
}

// Numbers that do not fit take free ones from the middle on.
LaneId NsysLanes::stream(std::int64_t number) {
  if (any_stream_ && number == last_stream_) return last_stream_lane_;
  const bool fits = number >= 0 && number < kMostLanes / 2;
  std::uint32_t ordinal = static_cast<std::uint32_t>(number);
  const auto found = streams_.find(number);
  if (found != streams_.end()) {
    ordinal = found->second;
  } else {
    if (!fits)
      ordinal = static_cast<std::uint32_t>(std::min<std::size_t>(kMostLanes / 2 + streams_.size(), kMostLanes - 1));
    if (streams_.size() < kMostLanes) streams_.emplace(number, ordinal);
  }
  any_stream_ = true;
  last_stream_ = number;
  return last_stream_lane_ = LaneId{kStreamLaneBit | ordinal};
}

LaneId NsysLanes::unknown_thread() {
  has_unknown_ = true;
  return LaneId{kUnknownThread};
}

void NsysLanes::announce(const NsysDatabase& database, const NsysStrings& strings, EventSink& sink) const {
  std::unordered_map<std::int64_t, std::string> names;
  constexpr std::array<std::string_view, 2> columns{"globalTid", "nameId"};
  NsysRows rows = database.rows("ThreadNames", columns);
  while (rows.next()) {
    const std::optional<std::int64_t> tid = rows.integer(0), name = rows.integer(1);
    if (!tid || !name || !threads_.contains(*tid)) continue;
    if (const std::optional<std::string> text = strings.find(*name)) names[*tid] = clean_text(*text);
  }
  constexpr std::int64_t kThreadBits = 0xffffff;
  for (const auto& [tid, ordinal] : threads_) {
    const std::string number = std::to_string(tid & kThreadBits);
    sink.lane({LaneId{ordinal}, tid & kThreadBits, names.contains(tid) ? names[tid] : "thread " + number});
  }
  for (const auto& [number, ordinal] : streams_)
    sink.lane({LaneId{kStreamLaneBit | ordinal}, number, "stream " + std::to_string(number)});
  if (has_unknown_) sink.lane({LaneId{kUnknownThread}, 0, "synchronisation"});
}

}  // namespace gradsync
