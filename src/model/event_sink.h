// EventSink: where every source of events pours them (spool reader, importers, live collectors, tests).
// A sink is fed one process at a time, by one thread. Names are interned in the sink.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/model/event.h"

namespace gradsync {

struct ProcessInfo {
  std::string host;
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::string command;
  Nanoseconds monotonic = 0;  // both clocks, read together when recording began; 0 = unknown
  Nanoseconds realtime = 0;
  bool exited_cleanly = false;  // said goodbye
  Nanoseconds exit_time = 0;    // 0 = did not
  std::uint64_t lost = 0;       // events this process knows it dropped
  std::uint64_t self_ns = 0;    // time spent in our own callbacks
  std::string clock{};          // whose stamps these are, where it is not the host's (one file of several clocks)
};

struct LaneInfo {
  LaneId id{};
  std::int64_t tid = 0;
  std::string name;
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void begin_process(const ProcessInfo& process) = 0;
  virtual NameId intern(std::string_view text) = 0;
  virtual void lane(const LaneInfo& lane) = 0;
  virtual void event(const Event& event) = 0;
  virtual void attribute(std::uint64_t event_reference, NameId key, std::int64_t value) = 0;
  virtual void attribute(std::uint64_t event_reference, NameId key, NameId value) = 0;
  virtual void fact(std::string_view key, std::string_view value) = 0;
};

}  // namespace gradsync
