// What every way of writing a file shares.
#pragma once

#include <filesystem>
#include <string_view>

namespace gradsync {

// Goes on after interruptions and short writes. 0, or errno of what failed.
int write_bytes(int fd, std::string_view bytes);

// Renaming a new file over /dev/stdout, a named pipe or a device would put an end to it: those are written to.
bool is_replaced(const std::filesystem::path& path);

}  // namespace gradsync
