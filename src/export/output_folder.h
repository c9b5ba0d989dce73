// A folder of files that appears when all of them are written: until then it is a sibling with another name. Mode 0700.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "src/base/result.h"

namespace gradsync {

class OutputFolder {
 public:
  // Errors (125): it exists and is not an empty folder, or the folder above is not there or not ours to write.
  static Result<OutputFolder> open(const std::filesystem::path& path);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();  // without finish() nothing is left of it

  // name → content, names without folders. Once.
  Result<void> finish(const std::map<std::string, std::string>& files);

 private:
  OutputFolder(std::filesystem::path path, std::filesystem::path sibling);
  std::filesystem::path path_, sibling_;  // sibling: empty when there is none any more
};

}  // namespace gradsync
