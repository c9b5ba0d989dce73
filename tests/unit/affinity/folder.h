// A folder of its own, removed at the end.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

namespace gradsync {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/gsd-affinity-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace gradsync
