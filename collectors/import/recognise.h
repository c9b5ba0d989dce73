// What kind of file a path is, by its content: so that a command can say "that is a report, use show".
#pragma once

#include <filesystem>

#include "src/base/result.h"

namespace gradsync {

enum class FileKind {
  chrome_trace,  // also gzip
  recording,     // a folder of gradsync-doctor run
  folder,
  spool,
  report,   // JSON of gradsync-doctor
  sqlite,   // an export of Nsight Systems, mostly
  json,     // another one
  archive,  // zip, tar, xz, zstd, bzip2; tar and others also inside gzip
  empty,
  unknown,
};

// Reads the first megabyte at most. Errors: it cannot be opened.
Result<FileKind> recognise(const std::filesystem::path& path);

// Nothing when `path` is a Chrome trace; else an Error that says what it is and what can be done with it.
Result<void> check_chrome_trace(const std::filesystem::path& path);

inline bool is_chrome_trace(const std::filesystem::path& path) { return static_cast<bool>(check_chrome_trace(path)); }

}  // namespace gradsync
