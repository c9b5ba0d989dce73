// What programs may still take of this machine's memory, as the kernel estimates it.
#pragma once

#include <filesystem>
#include <optional>

namespace gradsync {

// Bytes, of MemAvailable in `meminfo`. Nothing where that cannot be read or does not say (before Linux 3.14).
std::optional<double> available_memory(const std::filesystem::path& meminfo = "/proc/meminfo");

}  // namespace gradsync
