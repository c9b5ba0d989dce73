// Lines of logs that launchers and NCCL write into: read with bounded memory, freed of the launcher's tag, and what
// NCCL wrote told apart from what a program wrote. Several processes write into one file without any lock, so a line
// of NCCL may begin in the middle of a program's line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/import/byte_source.h"

namespace gradsync {

class LineReader {
 public:
  explicit LineReader(ByteSource source) : source_(std::move(source)) {}

  // The next line without its end, valid until the next call. At most kLongestLine bytes of it: the rest is skipped.
  std::optional<std::string_view> next();
  Damage damage() const { return source_.damage(); }

  static constexpr std::size_t kLongestLine = std::size_t{1} << 16;

 private:
  bool refill();

  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t next_ = 0, available_ = 0;
};

// Without "[1,0]<stdout>:" (mpirun --tag-output), "3: " (srun -l), "[default0]:" (torchrun) and a carriage return.
std::string_view without_launcher_tag(std::string_view line);

// "before node3:25:71 [0] NCCL INFO text"; between the device and NCCL a warning has its file and line.
struct NcclLine {
  std::string_view before;  // what stood in the line already: the beginning of a program's own line
  std::string_view host;    // glued to the end of `before` where a process was interrupted: "-1node3"
  std::string_view level;   // INFO, WARN, TRACE, CALL
  std::string_view text;
};
std::optional<NcclLine> find_nccl_line(std::string_view line);

// "2.27.7+cuda13.0" behind "NCCL version " or "RCCL version "; empty when there is none.
std::string_view nccl_version_in(std::string_view text);

// NCCL's own number of a version: 22807 → 2.28.7, 2708 → 2.7.8. Empty for what is none.
std::string nccl_version_from(double code);

}  // namespace gradsync
