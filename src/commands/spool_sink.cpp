#include "src/commands/spool_sink.h"

#include <cstdlib>
#include <string>

#include "src/spool_writer/gsd.h"
#include "src/spool_writer/process_state.h"

namespace gradsync {

// The writer reads its environment when it is loaded, long before a folder was chosen: hence again.
SpoolSink::SpoolSink(const std::filesystem::path& recording) {
  ::setenv("GSD_RECORDING", recording.c_str(), 1);
  spool::configure(spool::ForkGuard::kernel_or_handler);
}

NameId SpoolSink::intern(std::string_view text) {
  return NameId{gsd_string(text.data(), static_cast<std::int64_t>(text.size()))};
}

void SpoolSink::event(const Event& event) {
  const std::uint64_t what = GSD_WHAT(event.kind, event.phase, event.source, event.flags, event.name);
  const std::uint64_t where = GSD_WHERE(event.group, event.sequence);
  const std::uint64_t written = gsd_event(what, static_cast<std::uint64_t>(event.bytes), where, event.start, event.end);
  if (event.correlation != 0) {
    // Of a wait or a range it is the reference of another event, of a kernel a number of the device's.
    const bool reference = event.kind == Kind::wait || event.kind == Kind::range;
    gsd_link(written, reference ? spool_reference(event.correlation) : event.correlation);
  }
  if (event.reference != 0) references_.emplace_back(event.reference, written);
}

std::uint64_t SpoolSink::spool_reference(std::uint64_t event_reference) const {
  for (auto pair = references_.rbegin(); pair != references_.rend(); ++pair)
    if (pair->first == event_reference) return pair->second;
  return 0;
}

void SpoolSink::attribute(std::uint64_t event_reference, NameId key, std::int64_t value) {
  gsd_attr_int(spool_reference(event_reference), static_cast<std::uint32_t>(key), value);
}

void SpoolSink::attribute(std::uint64_t event_reference, NameId key, NameId value) {
  gsd_attr_str(spool_reference(event_reference), static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(value));
}

void SpoolSink::fact(std::string_view key, std::string_view value) {
  gsd_fact(std::string(key).c_str(), std::string(value).c_str());
}

}  // namespace gradsync
