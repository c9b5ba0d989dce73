// An evidence pack: what somebody who helps from afar needs, in one .tar.gz.
//
//   gradsync-pack/README        what is in it, what was masked
//   gradsync-pack/MANIFEST      name and bytes of each of the others
//   gradsync-pack/report.json   the report, as a document …
//   gradsync-pack/report.md     … and to be read
//   gradsync-pack/recording/…   the recording: recording*.json, hello, events, windows, series, profiles
//
// Names of users and secrets are masked (redact.h). Times and owners are 0: the same recording gives the same bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "src/base/result.h"
#include "src/export/output_file.h"

namespace gradsync {

struct PackTally {
  std::uint64_t files = 0;            // of the recording
  std::uint64_t recording_bytes = 0;  // of these
  std::size_t masked = 0;             // names and values, everywhere
  std::uint64_t left_out = 0;         // links and other things in the recording's folders that are no part of it
};

// `to_markdown` draws the report that is masked already: markup hides names. The file is finished, too. Errors: a part that
// cannot be read; writing.
Result<PackTally> write_pack(const std::filesystem::path& recording, std::string report_json,
                             const std::function<std::string(const std::string&)>& to_markdown, OutputFile& file);

}  // namespace gradsync
