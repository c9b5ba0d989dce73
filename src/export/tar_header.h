// The 512 bytes before each file of a tar archive (POSIX ustar), as far as a pack needs them: files and folders with
// short names. Anything else is refused, so that no reader can understand an archive otherwise than we do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace gradsync {

inline constexpr std::size_t kTarBlock = 512;
inline constexpr std::string_view kPackFolder = "gradsync-pack/";  // every name of a pack begins so
using TarBlock = std::array<char, kTarBlock>;

struct TarEntry {
  std::string name;  // relative, without . and ..; of a folder with / at its end
  std::uint64_t bytes = 0;
  bool folder = false;
};

// Errors: a name that does not fit or would not be read again, a file of 8 GiB and more.
Result<TarBlock> tar_header(const TarEntry& entry);

// Errors (what the entry is): not a header, a link, a device, a name that leads out of the folder, or one that is not
// plain ASCII without blanks.
Result<TarEntry> read_tar_header(const TarBlock& block);

bool is_tar_end(const TarBlock& block);  // all zero

}  // namespace gradsync
