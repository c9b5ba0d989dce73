#include "collectors/import/host_lines.h"

#include <algorithm>

namespace gradsync {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20, kLongestLine = std::size_t{1} << 20;
constexpr std::uint64_t kMostBytes = std::uint64_t{8} << 30;

}  // namespace

Result<HostLines> HostLines::open(const std::filesystem::path& path) {
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  return HostLines(std::move(*source));
}

bool HostLines::refill() {
  if (ended_) return false;
  buffer_.erase(0, first_);
  first_ = 0;
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + kChunk);
  const std::size_t got = source_.read(buffer_.data() + kept, kChunk);
  buffer_.resize(kept + got);
  bytes_ += got;
  too_much_ = bytes_ >= kMostBytes;
  ended_ = got < kChunk || too_much_;
  return got > 0;
}

std::optional<std::string_view> HostLines::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', first_);
    if (end == std::string::npos) {
      if (buffer_.size() - first_ > kLongestLine) {
        if (!inside_long_line_) ++long_lines_;
        inside_long_line_ = true;
        first_ = buffer_.size();
      }
      if (refill()) continue;
    }
    if (first_ >= buffer_.size()) return std::nullopt;
    const std::size_t last = std::min(end, buffer_.size());
    std::string_view line(buffer_.data() + first_, last - first_);
    first_ = std::min(last + 1, buffer_.size());
    if (inside_long_line_) {
      inside_long_line_ = false;
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
}

Coverage HostLines::coverage() const {
  Coverage coverage;
  if (source_.damage() != Damage::none) add_reason(coverage, to_string(source_.damage()));
  if (too_much_) add_reason(coverage, "only the first 8 GiB of it were read");
  if (long_lines_ > 0) add_reason(coverage, "lines of more than 1 MiB were left out", long_lines_);
  return coverage;
}

std::optional<std::string_view> FirstLines::next() {
  if (left_-- <= 0 || rest_.empty()) return std::nullopt;
  const std::size_t length = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, length);
  rest_.remove_prefix(std::min(length + 1, rest_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void add_reason(Coverage& coverage, const std::string& reason, std::int64_t lost) {
  coverage.state = CoverageState::partial;
  coverage.reason += (coverage.reason.empty() ? "" : "; ") + reason;
  coverage.lost += lost;
}

}  // namespace gradsync
