// One spool file → events. The file may be cut anywhere, still be written to, or hold kinds of a later version:
// what is there is read, what is missing becomes a loss event with the reason as its name.
#pragma once

#include <cstdint>
#include <filesystem>

#include "src/base/result.h"
#include "src/model/event_sink.h"

namespace gradsync {

struct SpoolStats {
  std::uint64_t events = 0;
  std::uint64_t attributes = 0;
  std::uint64_t unknown_kinds = 0;  // records of kinds this version does not know, skipped
  std::uint64_t lost_records = 0;   // a lower bound: records that the file says it has and does not
};

// Reads `path` into `sink` as one process. Errors: not a spool, another byte order, a newer format, unreadable.
// Safe on a hostile file: every index is checked against the file's size.
Result<SpoolStats> read_spool(const std::filesystem::path& path, EventSink& sink);

}  // namespace gradsync
