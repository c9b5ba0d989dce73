// What kind of file a path is, by its content: so that a command can say "that is a report, use show".
#pragma once

#include <filesystem>

#include "collectors/import/format.h"
#include "src/base/result.h"

namespace gradsync {

enum class FileKind {
  importable,  // one of formats.cpp, also inside gzip
  recording,   // a folder of gradsync-doctor run
  folder,
  spool,
  report,   // JSON of gradsync-doctor
  pack,     // of show --pack: gzip or not
  sqlite,   // of no known kind
  json,     // another one
  archive,  // zip, tar, xz, zstd, bzip2; tar and others also inside gzip
  empty,
  unknown,
};

struct Recognised {
  FileKind kind = FileKind::unknown;
  const FileFormat* format = nullptr;  // of what is importable
};

// Reads the first megabyte at most. Errors: it cannot be opened.
Result<Recognised> recognise(const std::filesystem::path& path);

// Why a file that is not importable cannot be analysed, and what can be done with it.
Error refusal(FileKind kind, const std::filesystem::path& path);

// Nothing when `path` is a Chrome trace; else an Error that says what it is and what can be done with it.
Result<void> check_chrome_trace(const std::filesystem::path& path);

}  // namespace gradsync
