// What the device's names mean, on the way from the spools into a timeline. The collector inside the job writes them as
// CUPTI gives them; here kernels get readable names, and NCCL's become collectives on their stream, as in traces.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "collectors/import/known_names.h"
#include "src/model/event_sink.h"

namespace gradsync {

class DeviceNames final : public EventSink {
 public:
  explicit DeviceNames(EventSink& sink) : sink_(sink), known_(sink) {}

  void begin_process(const ProcessInfo& process) override;
  NameId intern(std::string_view text) override;
  void lane(const LaneInfo& lane) override { sink_.lane(lane); }
  void event(const Event& event) override;
  void attribute(std::uint64_t event_reference, NameId key, std::int64_t value) override;
  void attribute(std::uint64_t event_reference, NameId key, NameId value) override {
    sink_.attribute(event_reference, key, value);
  }
  void fact(std::string_view key, std::string_view value) override { sink_.fact(key, value); }

 private:
  const KnownName& meaning(NameId name);
  void announce_stream(LaneId lane);

  EventSink& sink_;
  KnownNames known_;
  std::unordered_map<std::uint32_t, std::string> texts_;  // by NameId, of this process
  std::unordered_map<std::uint32_t, const KnownName*> meanings_;
  std::unordered_map<std::uint32_t, bool> streams_;
  std::uint64_t casting_ = 0;  // the event given last, when it converts between element types
};

}  // namespace gradsync
