// Which rank a trace file is of: by what it says itself, else by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "src/base/result.h"

namespace gradsync {

enum class RankSource {
  none,
  caller,            // ImportOptions said so
  distributed_info,  // the trace's own distributedInfo
  file_name,         // rank0.json, trace-rank_70.pt.trace.json, rank-34.Jul_15.json.gz
  file_number,       // trace.0.json: a number by itself between dots; may mean something else
};
const char* to_string(RankSource source);

struct FoundRank {
  std::optional<int> rank;
  RankSource source = RankSource::none;
};

// By the last component of `path` alone.
FoundRank rank_from_name(const std::filesystem::path& path);

// Reads the trace's metadata (of a compressed file: all of it, when the beginning does not tell), then the name.
// Errors: the file cannot be opened, or is not a trace.
Result<FoundRank> find_rank(const std::filesystem::path& path);

// The rank that `told` means, if it is one.
std::optional<int> valid_rank(const std::optional<std::int64_t>& told);

}  // namespace gradsync
