// Small files of /proc and /sys, as optional values: absent and unreadable are nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/cpu_list.h"

namespace gradsync {

std::optional<std::string> small_text(const std::filesystem::path& path);  // trimmed; 64 KiB at most
std::optional<int> small_number(const std::filesystem::path& path);
std::optional<CpuList> small_cpu_list(const std::filesystem::path& path);

// Names of a folder's entries, sorted; none where it cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);
// Those that are numbers, ascending.
std::vector<int> numbers_in(const std::filesystem::path& folder);

}  // namespace gradsync
