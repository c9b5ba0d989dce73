// A tree of files below a folder of its own, removed at the end: what a collector reads instead of /proc and /sys.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gradsync::test {

class Tree {
 public:
  Tree() {
    char name[] = "/tmp/gsd-host-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  const std::filesystem::path& root() const { return root_; }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::filesystem::create_symlink(target, root_ / path);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ / path); }

 private:
  std::filesystem::path root_;
};

}  // namespace gradsync::test
