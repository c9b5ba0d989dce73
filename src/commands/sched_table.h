// The table of `sched`, with the columns of `perf sched latency` and what it lacks. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectors/host/sched_account.h"

namespace gradsync {

struct SchedRow {
  ThreadWait wait;
  std::optional<WaitTails> tails;
};

// The first `most` rows; what is not known is "-". Moments are seconds after `began`.
std::string sched_table(const std::vector<SchedRow>& rows, std::size_t most, Nanoseconds began);

}  // namespace gradsync
