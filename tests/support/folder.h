// A folder of the test's own: private, and gone with everything in it at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "src/base/temporary_folder.h"

namespace gradsync::test {

class Folder {
 public:
  const std::filesystem::path& path() const { return folder_.path(); }

  // Writes the file and makes the folders above it; its path.
  std::filesystem::path put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name, std::ios::binary) << text;
    return path() / name;
  }

 private:
  static TemporaryFolder made() {
    Result<TemporaryFolder> folder = TemporaryFolder::make("gsd-test");
    if (!folder) throw std::runtime_error(folder.error().message());
    return std::move(*folder);
  }

  TemporaryFolder folder_ = made();
};

}  // namespace gradsync::test
