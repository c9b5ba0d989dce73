// Lanes of one trace: CPU threads get ordinals in order of their first event, device streams the high bit and their
// number. Owned by one import.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectors/import/trace_event.h"
#include "src/model/event_sink.h"

namespace gradsync {

class LaneTable {
 public:
  static constexpr std::uint32_t kMostLanes = std::uint32_t{1} << 20;  // further ones share the last lane

  LaneId host(const TraceEvent& event);
  // By args.stream and args.device, else by tid ("stream 7" or 7) and pid. Streams of a second device whose numbers
  // are taken get numbers from kMostLanes / 2 on.
  LaneId device(const TraceEvent& event);
  // thread_name metadata: names the lane of this pid and tid, which may come later.
  void name(const TraceEvent& event);

  void announce(EventSink& sink) const;
  std::size_t host_processes() const;  // different pids among the CPU threads of PyTorch
  std::size_t devices() const;

 private:
  struct HostLane {
    std::string pid, tid;
    bool works = false;  // runs operators, annotations or runtime calls
  };
  struct Stream {
    std::int64_t device = 0, number = 0;
    std::uint32_t ordinal = 0;
    std::string key;  // pid and tid, for its name
  };
  static std::string key_of(const TraceEvent& event);

  std::unordered_map<std::string, std::uint32_t> host_ordinals_;
  std::vector<HostLane> hosts_;
  std::uint32_t last_host_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, Stream> streams_;
  std::set<std::uint32_t> taken_;  // ordinals of streams
  std::uint32_t next_free_ = kMostLanes / 2;
  std::map<std::string, std::string> names_;  // by pid and tid
};

}  // namespace gradsync
