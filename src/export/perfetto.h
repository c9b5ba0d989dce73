// A job's timelines as a trace that ui.perfetto.dev and chrome://tracing open, and that `analyze` reads again
// (collectors/import/doctor_trace.h): Chrome's JSON trace events, one a line.
//
//   process "rank 0"      threads: steps · each lane as it nests · its collectives, in rows where they overlap · streams
//   process "machine H"   threads: CPU n, with waits for it and interrupts; counters of GPUs and network devices
//   arrows                from rank to rank of one collective, in the order of arrival; from launches to kernels
//
// Ranks of one clock share the trace's time axis. Where no common clock was found each one begins at 0: then there are
// no arrows between ranks, and `clocks` of the trace says "apart".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/series.h"
#include "src/timeline/align_clocks.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// Key of the trace's first member; its value is the version of this layout.
inline constexpr std::string_view kDoctorTrace = "gradsyncTrace";
inline constexpr int kDoctorTraceVersion = 1;

struct TraceSource {
  const std::vector<RankTimeline>& ranks;  // joined (join_ranks.h)
  const ClockAlignment& clocks;            // of that join
  const SeriesSet& series;                 // gpu_samples and nic_samples are drawn, stamps as they were recorded
};

struct TraceTally {
  std::int64_t events = 0;  // of the timelines
  std::int64_t arrows = 0;  // between ranks
  std::int64_t launches = 0;
  std::int64_t counters = 0;  // values
};

// Writes while it walks: memory does not grow with the number of events, but for an entry per shared collective and per
// launch whose kernel has not come yet. `put` is given whole lines, many at once.
TraceTally write_trace(const TraceSource& source, const std::function<void(std::string_view)>& put);

}  // namespace gradsync
