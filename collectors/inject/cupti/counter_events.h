// What was counted becomes events: a mark for each kernel with its metrics, and one for the range.
#pragma once

#include "collectors/inject/cupti/ranges.h"

namespace gradsync::cupti {

struct CountedRange {
  const ProfilerFunctions& call;
  const MetricSet& metrics;
  const RangeProfiler& profiler;  // closed
  int64_t began_ns;               // CLOCK_MONOTONIC
  int64_t asked_ns;               // what it cost is counted from here
};

// Ends at the first kernel whose counters cannot be evaluated, with CUPTI's answer.
Status write_counted_range(const CountedRange& range);

}  // namespace gradsync::cupti
