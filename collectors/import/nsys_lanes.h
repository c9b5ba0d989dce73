// Lanes of one rank of an Nsight Systems export: CPU threads get ordinals in order of their first event, device streams
// the high bit and their number.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/import/nsys_names.h"
#include "src/model/event_sink.h"

namespace gradsync {

class NsysLanes {
 public:
  static constexpr std::uint32_t kMostLanes = std::uint32_t{1} << 20;  // further ones share the last lane

  LaneId thread(std::int64_t global_tid);
  LaneId stream(std::int64_t number);
  // Synchronisations whose call was not recorded: the export does not tell their thread.
  LaneId unknown_thread();

  void announce(const NsysDatabase& database, const NsysStrings& strings, EventSink& sink) const;

 private:
  std::unordered_map<std::int64_t, std::uint32_t> threads_, streams_;
  std::int64_t last_thread_ = 0, last_stream_ = 0;
  LaneId last_thread_lane_{}, last_stream_lane_{};
  bool any_thread_ = false, any_stream_ = false;
  bool has_unknown_ = false;
};

}  // namespace gradsync
