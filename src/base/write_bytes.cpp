#include "src/base/write_bytes.h"

#include <unistd.h>

#include <cerrno>

namespace gradsync {

int write_bytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) return errno;
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

bool is_replaced(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  return !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
}

}  // namespace gradsync
