// The bytes of a file from beginning to end, inflated when it is gzip (recognised by its first bytes). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "collectors/import/inflate.h"
#include "src/base/file.h"
#include "src/base/result.h"

namespace gradsync {

// Why the bytes end, or may be wrong, against what the file's author meant.
enum class Damage { none, cut, corrupt, unreadable };
const char* to_string(Damage damage);  // "its compressed bytes end too early"; empty for none

class ByteSource {
 public:
  // Errors: no such file, not a regular file or pipe, not readable.
  static Result<ByteSource> open(const std::filesystem::path& path);

  // Fills `into` as far as the file goes; less than `capacity` only at the end.
  std::size_t read(char* into, std::size_t capacity);

  bool is_gzip() const { return inflater_ != nullptr; }
  Damage damage() const { return damage_; }

 private:
  explicit ByteSource(FileDescriptor file);
  bool refill();
  std::size_t read_raw(char* into, std::size_t capacity);
  std::size_t read_stored(char* into, std::size_t capacity);
  std::size_t read_inflated(char* into, std::size_t capacity);
  bool begin_member();

  FileDescriptor file_;
  std::unique_ptr<Inflater> inflater_;
  std::vector<char> raw_;  // bytes of the file, not yet used
  std::size_t next_ = 0, available_ = 0;
  bool between_members_ = false, first_member_ = true, ended_ = false;
  std::uint64_t member_bytes_ = 0;
  Damage damage_ = Damage::none;
};

}  // namespace gradsync
