// TraceEvents → events in a sink, by the table in kineto.h. One trace each; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectors/import/clock_map.h"
#include "collectors/import/kineto.h"
#include "collectors/import/known_names.h"
#include "collectors/import/lane_table.h"
#include "collectors/import/trace_event.h"
#include "collectors/import/trace_reader.h"

namespace gradsync {

class TraceImporter final : public TraceEventHandler {
 public:
  // `process` is begun in the sink when the file turns out to be a trace; without it the caller has begun one.
  TraceImporter(EventSink& sink, ClockMap clock, std::optional<ProcessInfo> process)
      : sink_(sink), clock_(clock), process_(std::move(process)), names_(sink) {}

  void begin() override {
    if (process_) sink_.begin_process(*process_);
  }
  void handle(const TraceEvent& event) override;
  // Gives what is known only at the end: lanes, losses, ranges that were never ended. Call once.
  ImportStats finish(const TraceReading& reading);

 private:
  void complete(const TraceEvent& event);
  bool is_for_import(const TraceEvent& event);
  // Kind and lane. Returns the operation of a collective, else nothing.
  std::string_view classify(const TraceEvent& event, const KnownName& name, Event& made);
  std::string_view on_device(const TraceEvent& event, const KnownName& name, Event& made);
  std::string_view on_host(const TraceEvent& event, const KnownName& name, Event& made);
  void give_collective(const TraceEvent& event, const KnownName& name, std::string_view operation, Event& made);
  void begin_range(const TraceEvent& event);
  void end_range(const TraceEvent& event);
  void give(const Event& event);
  void lose(std::uint64_t count, const std::string& why);

  EventSink& sink_;
  ClockMap clock_;
  std::optional<ProcessInfo> process_;
  KnownNames names_;
  LaneTable lanes_;
  std::unordered_map<std::uint32_t, std::vector<Event>> open_;  // begun ranges by lane, innermost last
  std::uint64_t references_ = 0, not_kept_ = 0;
  ImportStats stats_;
};

}  // namespace gradsync
