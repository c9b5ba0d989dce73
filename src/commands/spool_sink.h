// Events of the doctor's own collectors, into a spool of the doctor's process: the same writer, the same bytes.
#pragma once

#include <filesystem>
#include <vector>

#include "src/model/event_sink.h"

namespace gradsync {

class SpoolSink final : public EventSink {
 public:
  // The spool appears in `recording`/events with the first event. One recording per process.
  explicit SpoolSink(const std::filesystem::path& recording);

  void begin_process(const ProcessInfo&) override {}  // always this process
  NameId intern(std::string_view text) override;
  void lane(const LaneInfo&) override {}  // a lane is the calling thread
  void event(const Event& event) override;
  void attribute(std::uint64_t event_reference, NameId key, std::int64_t value) override;
  void attribute(std::uint64_t event_reference, NameId key, NameId value) override;
  void fact(std::string_view key, std::string_view value) override;

 private:
  std::uint64_t spool_reference(std::uint64_t event_reference) const;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> references_;  // the collector's → the spool's
};

}  // namespace gradsync
