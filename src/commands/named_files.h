// Which files the arguments of `analyze` mean.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

// The files that the arguments mean, each once, in the order given: a folder means the files below it that can be
// imported, a pattern (*, ?, [ ]) the paths that match it. Recordings stay folders.
struct NamedFiles {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> recordings;
  std::vector<Coverage> left_out;  // folders: how many files in them are of no known kind
};
// Errors: a path that does not exist or cannot be read, a pattern that nothing matches, a folder without usable files.
Result<NamedFiles> name_files(const std::vector<std::string>& arguments);

}  // namespace gradsync
