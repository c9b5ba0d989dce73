#include "tests/unit/import/trace_files.h"

#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace gradsync::test {
namespace {

std::string lane_name(LaneId lane) {
  const auto number = static_cast<std::uint32_t>(lane);
  return number >= 0x80000000U ? "s" + std::to_string(number & 0x7fffffffU) : std::to_string(number);
}

}  // namespace

std::string gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string bytes(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

std::string object_trace(std::string_view events, std::string_view tail) {
  return "{\"traceEvents\": [" + std::string(events) + "]" + std::string(tail) + "}";
}

void KeptEvents::begin_process(const ProcessInfo& process) { processes.push_back(process); }

NameId KeptEvents::intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return NameId{found->second};
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(text);
  ids_.emplace(text, id);
  return NameId{id};
}

void KeptEvents::lane(const LaneInfo& lane) { lanes[lane_name(lane.id)] = lane.name; }
void KeptEvents::event(const Event& event) { events.push_back(event); }

void KeptEvents::attribute(std::uint64_t event_reference, NameId key, std::int64_t value) {
  attributes[event_reference][name(key)] = std::to_string(value);
}

void KeptEvents::attribute(std::uint64_t event_reference, NameId key, NameId value) {
  attributes[event_reference][name(key)] = name(value);
}

void KeptEvents::fact(std::string_view key, std::string_view value) { facts[std::string(key)] = std::string(value); }

std::string KeptEvents::name(NameId id) const { return names_.at(static_cast<std::size_t>(id)); }

std::string KeptEvents::line(const Event& event) const {
  std::string text(to_string(event.kind));
  text += " " + name(event.name) + " " + std::to_string(event.start) + ".." + std::to_string(event.end);
  text += " lane=" + lane_name(event.lane);
  const auto field = [&text](const char* key, std::int64_t value) {
    if (value != 0) text += std::string(" ") + key + "=" + std::to_string(value);
  };
  field("correlation", static_cast<std::int64_t>(event.correlation));
  field("bytes", event.bytes);
  if (event.group != NameId::none) text += " group=" + name(event.group);
  field("seq", event.sequence);
  field("step", event.step == kNoStep ? 0 : event.step);
  field("flags", event.flags);
  const auto found = attributes.find(event.reference);
  if (found != attributes.end())
    for (const auto& [key, value] : found->second) text += " " + key + "=" + value;
  return text;
}

std::vector<std::string> KeptEvents::lines() const {
  std::vector<std::string> all;
  for (const Event& event : events) all.push_back(line(event));
  return all;
}

std::vector<Event> KeptEvents::of(Kind kind) const {
  std::vector<Event> found;
  for (const Event& event : events)
    if (event.kind == kind) found.push_back(event);
  return found;
}

std::optional<std::filesystem::path> corpus() {
  const char* folder = std::getenv("GSD_CORPUS");
  if (folder == nullptr || !std::filesystem::is_directory(std::filesystem::path(folder) / "kineto"))
    return std::nullopt;
  return std::filesystem::path(folder);
}

}  // namespace gradsync::test
