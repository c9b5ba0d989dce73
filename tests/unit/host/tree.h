// A tree of files below a folder of its own, removed at the end: what a collector reads instead of /proc and /sys.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/folder.h"

namespace gradsync::test {

class Tree {
 public:
  const std::filesystem::path& root() const { return folder_.path(); }
  void put(const std::string& path, const std::string& text) const { folder_.put(path, text); }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((root() / path).parent_path());
    std::filesystem::create_symlink(target, root() / path);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root() / path); }

 private:
  Folder folder_;
};

}  // namespace gradsync::test
