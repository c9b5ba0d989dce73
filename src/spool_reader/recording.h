// The recording folder as a whole: which parts are there, and pouring all its spools into a sink.
// The folder's layout is listed in docs/events.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/event_sink.h"
#include "src/model/report.h"

namespace gradsync {

// What an interpreter said at start-up.
struct Hello {
  std::string host;
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::string executable;
  std::vector<std::string> arguments;
  std::string python;
  int rank = -1;  // RANK in its environment; -1 = not set
  int world_size = -1;
};

// A deep window's file, by its name <host>-<pid>-<k>.json.
struct WindowFile {
  std::filesystem::path path;
  std::string host;
  std::int64_t pid = 0;
};

struct RecordingFolder {
  std::filesystem::path path;
  std::vector<std::filesystem::path> spools;  // sorted by name
  std::vector<Hello> hellos;                  // sorted by host, pid
  std::vector<WindowFile> windows;            // sorted by name
};

// True when `path` is a folder that looks like a recording (it has an events folder or recording.json).
bool is_recording(const std::filesystem::path& path);

// Lists the parts. Errors: no folder, no parts at all.
Result<RecordingFolder> open_recording_folder(const std::filesystem::path& path);

// Reads every spool; a file that cannot be read becomes a coverage entry, not the end.
std::vector<Coverage> read_spools(const RecordingFolder& folder, EventSink& sink);

}  // namespace gradsync
