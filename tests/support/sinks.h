// Sinks for tests and benchmarks that are not about events: one that lets everything pass, and one that counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/model/event_sink.h"

namespace gradsync::test {

// To override what matters.
class IgnoringSink : public EventSink {
 public:
  void begin_process(const ProcessInfo&) override {}
  NameId intern(std::string_view) override { return NameId{1}; }
  void lane(const LaneInfo&) override {}
  void event(const Event&) override {}
  void attribute(std::uint64_t, NameId, std::int64_t) override {}
  void attribute(std::uint64_t, NameId, NameId) override {}
  void fact(std::string_view, std::string_view) override {}
};

// Tells names apart, as whoever keeps events has to.
class CountingSink final : public IgnoringSink {
 public:
  NameId intern(std::string_view text) override {
    return NameId{ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(ids_.size() + 1)).first->second};
  }
  void begin_process(const ProcessInfo&) override { ++processes; }
  void event(const Event&) override { ++events; }

  std::uint64_t processes = 0, events = 0;

 private:
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace gradsync::test
