// Which processes belong to the job: the descendants of one. From /proc/PID/task/TID/children where the kernel has it,
// else from the parents of all processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace gradsync {

// Folders of `folder` whose names are numbers, in order: processes of /proc, threads of /proc/PID/task.
std::vector<std::int64_t> numbered_folders(const std::filesystem::path& folder);

// Whether `ancestor` is among the parents of `pid`, or is it.
bool descends_from(const std::filesystem::path& proc, std::int64_t pid, std::int64_t ancestor);

// In order of their numbers, without `ancestor` itself.
std::vector<std::int64_t> descendants(const std::filesystem::path& proc, std::int64_t ancestor);

}  // namespace gradsync
