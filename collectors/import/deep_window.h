// A deep window: what the Python hook's profiler exported for some steps of a process that also has a spool.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "collectors/import/clock_map.h"
#include "src/base/result.h"
#include "src/model/event_sink.h"

namespace gradsync {

struct DeepWindowStats {
  std::uint64_t events = 0;
  std::int64_t lost = 0;  // a lower bound
  std::string loss_reason;
  double clock_residual_us = 0;  // see ClockMap::residual
};

// Pours the window's events into the process that the caller has begun, on CLOCK_MONOTONIC. `monotonic` is that clock
// inside the profile's ranges gsd_clock_open and gsd_clock_close, which are not imported. Errors: not readable, not a
// trace, a marker range is missing (the file is cut, or another program wrote it); nothing was written then.
Result<DeepWindowStats> import_deep_window(const std::filesystem::path& path, ClockStamps monotonic, EventSink& sink);

}  // namespace gradsync
