// A file that is written piece by piece: a sibling that is renamed over `path` when it is whole, as write_file does, so
// that nobody reads half of one. Standard output (-), pipes and devices are written to directly. Mode 0600; gzip when the
// name ends in .gz.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/file.h"
#include "src/base/result.h"
#include "src/export/deflate.h"

namespace gradsync {

class OutputFile {
 public:
  // Errors: the folder is not there or not ours to write (exit status 125).
  static Result<OutputFile> open(const std::filesystem::path& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // without finish() nothing is left of it

  void write(std::string_view bytes);
  // The first error of all writing, if there was one: then the old file is still there.
  Result<void> finish();
  std::uint64_t bytes() const;  // written, as they stand in the file

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gradsync
