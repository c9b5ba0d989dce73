// Evidence packs (show --pack) that somebody sent: unpacked into a private folder, after every entry was looked at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/base/temporary_folder.h"

namespace gradsync {

struct PackLimits {
  std::uint64_t bytes = std::uint64_t{8} << 30;  // unpacked
  std::uint64_t entries = 20'000;
};

struct OpenPack {
  TemporaryFolder folder;
  std::filesystem::path recording;
};

// True when the content is that of a pack. A path that cannot be read is none.
bool is_pack(const std::filesystem::path& path);

// Only files and folders below the pack's own are made. Errors (status 3): an entry of another kind or with a name that
// leads out, more or larger entries than `limits` or the folder's disk hold, a pack that is cut or damaged, no recording.
Result<OpenPack> open_pack(const std::filesystem::path& path, const PackLimits& limits = {});

// For commands that take paths: packs among them are opened and stand as their recordings.
struct OpenedPaths {
  std::vector<std::string> paths;
  std::vector<OpenPack> packs;     // alive as long as their recordings are read
  std::vector<std::string> names;  // as they were given
  // The pack that this folder was unpacked from; else the folder.
  std::string given(const std::string& path) const;
};
Result<OpenedPaths> open_packs(const std::vector<std::string>& paths);

}  // namespace gradsync
