// A text file line by line, inflated when it is gzip, in bounded memory. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "collectors/import/byte_source.h"
#include "src/model/report.h"

namespace gradsync {

class HostLines {
 public:
  // Errors: as ByteSource::open.
  static Result<HostLines> open(const std::filesystem::path& path);

  // The next line without its end; valid until the next call. Nothing at the end of the text.
  std::optional<std::string_view> next();

  // What the text itself lost: bytes that could not be inflated, lines that are too long, more text than is read.
  // `reason` is empty when nothing was.
  Coverage coverage() const;

 private:
  explicit HostLines(ByteSource source) : source_(std::move(source)) {}
  bool refill();

  ByteSource source_;
  std::string buffer_;
  std::size_t first_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t long_lines_ = 0;
  bool ended_ = false, too_much_ = false, inside_long_line_ = false;
};

// The lines of the beginning of a file, for recognisers: at most `most` of them.
class FirstLines {
 public:
  FirstLines(std::string_view head, int most) : rest_(head), left_(most) {}
  std::optional<std::string_view> next();

 private:
  std::string_view rest_;
  int left_;
};

// Partial, with one more reason.
void add_reason(Coverage& coverage, const std::string& reason, std::int64_t lost = 0);

}  // namespace gradsync
