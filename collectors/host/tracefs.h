// Tracepoints by name: their format files, from tracefs where it is mounted, else from a mount that only a thread of
// ours sees and that vanishes with it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/hosttext/trace_format.h"

namespace gradsync {

// By "sched/sched_switch". An error when one cannot be read.
Result<std::map<std::string, TraceFormat>> read_trace_formats(const std::filesystem::path& root,
                                                              const std::vector<std::string>& names);

}  // namespace gradsync
