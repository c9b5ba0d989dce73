// One recording of several hosts: each host's doctor writes parts of its own, and here they become those of one job.
#pragma once

#include <string>
#include <vector>

#include "src/model/report.h"

namespace gradsync {

struct HostParts {
  std::string host;  // empty: of a recording of one host
  Report parts;
};

// Rows of series are put together in the order of `hosts`. Coverage and facts that all hosts share stand once; where
// hosts differ, coverage says "on HOST" and a fact is "HOST: value; HOST: value". What tells of the command line and of
// the doctor itself (facts `option.…`, `doctor.…`) is the first host's, `sched.same_core` that of the gravest. The exit status is the first that is not 0.
Report join_hosts(std::vector<HostParts> hosts);

}  // namespace gradsync
