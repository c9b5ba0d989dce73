#include "collectors/import/trace_reader.h"

#include "collectors/import/json_windows.h"
#include "collectors/import/recognise.h"
#include "collectors/import/trace_event_json.h"

namespace gradsync {
namespace {

class EventReader final : public ElementVisitor {
 public:
  explicit EventReader(TraceEventHandler& handler) : handler_(handler) {}
  bool read(simdjson::ondemand::object element) override { return read_trace_event(std::move(element), event_); }
  void accept() override { handler_.handle(event_); }

 private:
  TraceEventHandler& handler_;
  TraceEvent event_;
};

}  // namespace

Result<TraceReading> read_trace(const std::filesystem::path& path, TraceEventHandler& handler) {
  std::error_code ignored;
  const bool is_pipe = std::filesystem::is_fifo(path, ignored);  // its beginning can be read only once
  if (!is_pipe) {
    const Result<void> known = check_chrome_trace(path);
    if (!known) return known.error();
  }
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  JsonWindows windows(*source);
  const Result<void> found = windows.find_array();
  if (!found) return Error{found.error().what, path.string(), found.error().why, "", 3};
  handler.begin();
  EventReader reader(handler);
  windows.for_each(reader);

  TraceReading reading;
  if (!windows.is_bare_array()) {
    read_metadata(windows.head(), reading.metadata);
    read_metadata(windows.tail(), reading.metadata);
  }
  const WindowStats& stats = windows.stats();
  reading.bytes = stats.bytes;
  reading.elements = stats.elements;
  reading.not_objects = stats.not_objects;
  reading.lost = stats.lost;
  reading.repaired = stats.repaired;
  reading.cut = !stats.closed;
  reading.damage = source->damage();
  return reading;
}

}  // namespace gradsync
