// The table of `sched`, with the columns of `perf sched latency` and what it lacks. Pure.
#pragma once

#include <string>
#include <vector>

#include "collectors/host/trace_tier.h"

namespace gradsync {

// The first `most` rows; what is not known is "-". Moments are seconds after `began`.
std::string sched_table(const std::vector<ThreadSeen>& threads, std::size_t most, Nanoseconds began);

}  // namespace gradsync
