// Whole files and private folders: never follows a link at the last step, says errno in words.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace gradsync {

// The file's bytes; at most `limit`, so that a wrong path cannot eat the memory.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30);

// Writes a sibling and renames it over `path`: a reader sees the old or the new file, never half of one. Mode 0600.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

// Makes `path` (parents must exist) with mode 0700; it must not exist, or be an empty folder of ours.
Result<void> make_private_directory(const std::filesystem::path& path);

// errno in words.
std::string errno_text(int error);

// Closes on destruction; -1 = none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_;
};

}  // namespace gradsync
