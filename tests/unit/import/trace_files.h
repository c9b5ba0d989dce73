// Small trace files for tests, and a sink that keeps what an importer gives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/event_sink.h"
#include "tests/support/folder.h"

namespace gradsync::test {

// A file in a folder of its own; both vanish with it.
class TraceFile {
 public:
  explicit TraceFile(std::string_view bytes, const std::string& name = "trace.json")
      : path_(folder_.put(name, std::string(bytes))) {}
  const std::filesystem::path& path() const { return path_; }

 private:
  Folder folder_;
  std::filesystem::path path_;
};

std::string gzip(std::string_view text);

// {"traceEvents": [ events ] tail }
std::string object_trace(std::string_view events, std::string_view tail = "");

class KeptEvents final : public EventSink {
 public:
  void begin_process(const ProcessInfo& process) override;
  NameId intern(std::string_view text) override;
  void lane(const LaneInfo& lane) override;
  void event(const Event& event) override;
  void attribute(std::uint64_t event_reference, NameId key, std::int64_t value) override;
  void attribute(std::uint64_t event_reference, NameId key, NameId value) override;
  void fact(std::string_view key, std::string_view value) override;

  // One line an event: "kernel gemm 1000..3000 lane=s7 correlation=5 bytes=… group=… seq=… step=… key=value …".
  // Fields that are 0 are left out; attributes by key. "lane=2" is the thread with ordinal 2.
  std::string line(const Event& event) const;
  std::vector<std::string> lines() const;
  std::vector<Event> of(Kind kind) const;
  std::string name(NameId id) const;

  std::vector<ProcessInfo> processes;
  std::vector<Event> events;
  std::map<std::string, std::string> facts;
  std::map<std::string, std::string> lanes;  // "s7" → "stream 7", "0" → "thread 42"
  std::map<std::uint64_t, std::map<std::string, std::string>> attributes;

 private:
  std::vector<std::string> names_{""};
  std::map<std::string, std::uint32_t, std::less<>> ids_{{"", 0}};
};

// The folder of real files, with a slash; nothing where there is none (GSD_CORPUS).
std::optional<std::filesystem::path> corpus();

}  // namespace gradsync::test
