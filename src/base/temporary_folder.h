// A private folder below TMPDIR that goes with everything in it when its owner does.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "src/base/result.h"

namespace gradsync {

class TemporaryFolder {
 public:
  // Named `name`-XXXXXX, mode 0700.
  static Result<TemporaryFolder> make(const std::string& name);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace gradsync
