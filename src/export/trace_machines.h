// What belongs to machines and not to ranks: waits for CPUs and interrupts, on a track per CPU, and counters over time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/export/perfetto.h"
#include "src/export/trace_text.h"

namespace gradsync {

struct MachineTally {
  std::int64_t events = 0, counters = 0;
};

// Processes from `first_process` on, one for each machine that has something; `origins`: of ranks, by host. Events of one
// machine's ranks are sorted together: it keeps 16 bytes for each meanwhile.
MachineTally write_machines(TraceText& text, const TraceSource& source,
                            const std::map<std::string, Nanoseconds>& origins, int first_process, int& next_thread);

}  // namespace gradsync
