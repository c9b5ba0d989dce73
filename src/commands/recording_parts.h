// The parts of a recording that the doctor itself writes: recording.json and series/<name>.json. Both are report
// documents (schema/report.schema.json) without findings, so that one reader serves all: recording.json holds tool, run,
// facts, options (as facts "option.<name>") and coverage; a series file holds its one table. A host that records beside
// others writes recording@HOST.json and series/<name>@HOST.json, which are read as one (join_hosts.h).
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

inline constexpr std::array<const char*, 5> kRecordingFolders{"hello", "events", "windows", "series", "profiles"};

// Makes DIR and these folders in it; all 0700. A recording that another host has begun, and nobody has finished, is
// joined: one folder for all nodes of a job, on a file system that they share.
Result<void> make_recording_folder(const std::filesystem::path& folder);

// Hosts that have written into the recording, sorted; and those beside this one.
std::vector<std::string> hosts_of(const std::filesystem::path& folder);
std::vector<std::string> other_hosts(const std::filesystem::path& folder);

Result<void> write_recording_parts(const std::filesystem::path& folder, const Report& parts);

// A recording whose doctor was killed has no recording.json: then `parts` is empty but for a coverage entry.
Report read_recording_parts(const std::filesystem::path& folder);

}  // namespace gradsync
