// Who on this machine could hold CUPTI before the job begins. Pure but for /proc below a root.
#pragma once

#include <filesystem>
#include <string>

namespace gradsync {

// The profiler or debugger among a process and its ancestors, as its command is called ("nsys"); empty: none is known.
std::string profiler_among_ancestors(const std::filesystem::path& root, std::int64_t pid);

}  // namespace gradsync
