#include "src/export/output_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "src/base/file.h"

namespace gradsync {
namespace fs = std::filesystem;
namespace {

Error failure(const fs::path& path, const std::string& why) {
  return {"cannot make the folder", path.string(), why, "", 125};
}

}  // namespace

OutputFolder::OutputFolder(fs::path path, fs::path sibling) : path_(std::move(path)), sibling_(std::move(sibling)) {}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : path_(std::move(other.path_)), sibling_(std::exchange(other.sibling_, {})) {}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!sibling_.empty()) fs::remove_all(sibling_, ignored);
}

Result<OutputFolder> OutputFolder::open(const fs::path& given) {
  const fs::path path = given.has_filename() ? given : given.parent_path();  // "out/" is "out"
  std::error_code error;
  const fs::file_status there = fs::symlink_status(path, error);
  if (fs::exists(there) && (!fs::is_directory(there) || !fs::is_empty(path, error)))
    return failure(path, "it exists and is not an empty folder");
  std::string sibling = path.string() + ".XXXXXX";
  if (::mkdtemp(sibling.data()) == nullptr) return failure(path, errno_text(errno));
  return OutputFolder(path, sibling);
}

Result<void> OutputFolder::finish(const std::map<std::string, std::string>& files) {
  for (const auto& [name, content] : files)
    if (Result<void> written = write_file(sibling_ / name, content); !written) return written;
  if (::rename(sibling_.c_str(), path_.c_str()) != 0) return failure(path_, errno_text(errno));
  sibling_.clear();
  return {};
}

}  // namespace gradsync
