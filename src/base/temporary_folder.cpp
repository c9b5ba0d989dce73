#include "src/base/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>

#include "src/base/file.h"

namespace gradsync {

Result<TemporaryFolder> TemporaryFolder::make(const std::string& name) {
  std::error_code none;
  std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  if (none) folder = "/tmp";
  std::string pattern = (folder / (name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) return Error{"cannot make a folder in", folder.string(), errno_text(errno)};
  return TemporaryFolder(std::filesystem::path(pattern));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace gradsync
