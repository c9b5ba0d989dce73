// A trace file → its events one after the other, and what it says about itself. Hides windows and JSON library.
#pragma once

#include <cstdint>
#include <filesystem>

#include "collectors/import/byte_source.h"
#include "collectors/import/trace_event.h"
#include "collectors/import/trace_metadata.h"
#include "src/base/result.h"

namespace gradsync {

struct TraceReading {
  TraceMetadata metadata;
  std::uint64_t bytes = 0;        // of JSON text, inflated
  std::uint64_t elements = 0;     // complete ones in the list of events
  std::uint64_t not_objects = 0;  // of them: numbers, texts, lists
  std::uint64_t lost = 0;         // could not be read; a lower bound
  std::uint64_t repaired = 0;     // events with bytes that are not UTF-8
  bool cut = false;               // the file ends before its list of events does
  Damage damage = Damage::none;   // of the file's bytes; corrupt: what was read may be wrong
};

// Errors: the file cannot be opened; it is not a trace (recognise.h says what it is).
Result<TraceReading> read_trace(const std::filesystem::path& path, TraceEventHandler& handler);

}  // namespace gradsync
