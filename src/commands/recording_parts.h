// The parts of a recording that the doctor itself writes: recording.json and series/<name>.json. Both are report
// documents (schema/report.schema.json) without findings, so that one reader serves all: recording.json holds tool, run,
// facts, options (as facts "option.<name>") and coverage; a series file holds its one table.
#pragma once

#include <filesystem>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

// Makes DIR and its folders hello, events, windows, series, profiles; all 0700.
Result<void> make_recording_folder(const std::filesystem::path& folder);

Result<void> write_recording_parts(const std::filesystem::path& folder, const Report& parts);

// A recording whose doctor was killed has no recording.json: then `parts` is empty but for a coverage entry.
Report read_recording_parts(const std::filesystem::path& folder);

}  // namespace gradsync
