// What `sched` prints: the table, with the columns of `perf sched latency` and what it lacks, and the lines below it. Pure.
#pragma once

#include <string>
#include <vector>

#include "collectors/host/trace_tier.h"
#include "src/model/report.h"

namespace gradsync {

// Of single waits: all, those after preemptions, or none: then their sums are known alone.
enum class WaitsKnown { all, preemptions, sums };

struct SchedTable {
  WaitsKnown known = WaitsKnown::sums;
  std::vector<ThreadSeen> threads;
  Nanoseconds began = 0;  // moments are seconds after it
};

// The first `most` rows. A column of which nothing can be known is left out; what is not known of a thread is "-".
std::string sched_table(const SchedTable& table, std::size_t most);

// How it was watched, and what held the threads back beside each other: a quota, the hypervisor, a signal.
std::string sched_notes(const Report& report);

}  // namespace gradsync
