#include "collectors/import/nccl_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "src/base/text.h"

namespace gradsync {
namespace {

constexpr std::size_t kBufferBytes = 4 * LineReader::kLongestLine;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) {
  return !text.empty() && text.size() <= 19 && std::all_of(text.begin(), text.end(), is_digit);
}

// "host:pid:tid" → the host.
std::optional<std::string_view> host_of(std::string_view token) {
  const std::size_t thread = token.rfind(':');
  if (thread == std::string_view::npos || thread == 0) return std::nullopt;
  const std::size_t process = token.rfind(':', thread - 1);
  if (process == std::string_view::npos || process == 0) return std::nullopt;
  if (!all_digits(token.substr(thread + 1)) || !all_digits(token.substr(process + 1, thread - process - 1)))
    return std::nullopt;
  return token.substr(0, process);
}

std::string_view last_word(std::string_view text) {
  const std::size_t space = text.find_last_of(" \t");
  return space == std::string_view::npos ? text : text.substr(space + 1);
}

std::string_view without_trailing_space(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Without "[2026-01-02 10:00:00]", which NCCL can be told to begin its lines with.
std::string_view without_stamp(std::string_view text) {
  const std::string_view bare = without_trailing_space(text);
  const std::size_t open = bare.rfind('[');
  if (!bare.ends_with(']') || open == std::string_view::npos || bare.size() - open < 10 || bare.size() - open > 40)
    return text;
  const std::string_view stamp = bare.substr(open + 1, bare.size() - open - 2);
  return is_digit(stamp.front()) && stamp.find_first_not_of("0123456789-:.,/ TZ+") == std::string_view::npos
             ? bare.substr(0, open)
             : text;
}

// What stands before "NCCL INFO": "… host:pid:tid [dev] " or "… host:pid:tid [dev] net.cc:12 ".
std::optional<NcclLine> origin_of(std::string_view front) {
  front = without_trailing_space(front);
  for (int words = 0; words < 2; ++words) {
    const std::string_view device = last_word(front);
    if (device.size() > 2 && device.front() == '[' && device.back() == ']' &&
        all_digits(device.substr(1, device.size() - 2))) {
      front = without_trailing_space(front.substr(0, front.size() - device.size()));
      const std::string_view thread = last_word(front);
      const auto host = host_of(thread);
      if (!host) return std::nullopt;
      return NcclLine{without_stamp(front.substr(0, front.size() - thread.size())), *host, {}, {}};
    }
    front = without_trailing_space(front.substr(0, front.size() - device.size()));
  }
  return std::nullopt;
}

}  // namespace

bool LineReader::refill() {
  if (buffer_.empty()) buffer_.resize(kBufferBytes);
  std::memmove(buffer_.data(), buffer_.data() + next_, available_ - next_);
  available_ -= next_;
  next_ = 0;
  const std::size_t more = source_.read(buffer_.data() + available_, buffer_.size() - available_);
  available_ += more;
  return more > 0;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0;
  while (true) {
    const char* const first = buffer_.data() + next_;
    const std::size_t length = available_ - next_;
    const void* const end = length > searched ? std::memchr(first + searched, '\n', length - searched) : nullptr;
    if (end != nullptr) {
      const auto size = static_cast<std::size_t>(static_cast<const char*>(end) - first);
      next_ += size + 1;
      return std::string_view(first, std::min(size, kLongestLine));
    }
    if (length > kLongestLine) break;
    searched = length;
    if (!refill()) {
      if (length == 0) return std::nullopt;
      next_ = available_;
      return std::string_view(buffer_.data() + available_ - length, length);
    }
  }
  // Longer than anything that is looked for: the beginning is kept aside while the rest goes by.
  const std::size_t kept = next_;
  std::string_view line(buffer_.data() + kept, kLongestLine);
  next_ += kLongestLine;
  while (true) {
    const void* const end = std::memchr(buffer_.data() + next_, '\n', available_ - next_);
    if (end != nullptr) {
      next_ = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data()) + 1;
      return line;
    }
    if (kept != 0) {  // once: the beginning to the front, so that the buffer behind it can be filled again
      std::memmove(buffer_.data(), line.data(), line.size());
      line = std::string_view(buffer_.data(), line.size());
    }
    next_ = available_ = kLongestLine;
    const std::size_t more = source_.read(buffer_.data() + available_, buffer_.size() - available_);
    if (more == 0) return line;
    available_ += more;
  }
}

std::string_view without_launcher_tag(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  constexpr std::size_t kLongestTag = 96;
  if (line.starts_with('[')) {
    for (const std::string_view end : {"]<stdout>:", "]<stderr>:", "]<stddiag>:"}) {
      const std::size_t at = line.substr(0, kLongestTag).find(end);
      if (at != std::string_view::npos) return line.substr(at + end.size());
    }
    for (const std::string_view begin : {"[default", "[rank"}) {
      const std::size_t at = line.substr(0, kLongestTag).find("]:");
      if (line.starts_with(begin) && at != std::string_view::npos &&
          all_digits(line.substr(begin.size(), at - begin.size())))
        return line.substr(at + 2);
    }
    return line;
  }
  const std::size_t digit = line.find_first_not_of(' ');
  if (digit == std::string_view::npos || digit > 8) return line;
  const std::size_t colon = line.find_first_not_of("0123456789", digit);
  if (colon != std::string_view::npos && colon > digit && line.substr(colon).starts_with(": "))
    return line.substr(colon + 2);
  return line;
}

std::optional<NcclLine> find_nccl_line(std::string_view line) {
  constexpr std::array<std::string_view, 4> kLevels{"INFO ", "WARN ", "TRACE ", "CALL "};
  constexpr std::string_view kMark = " NCCL ";
  for (std::size_t at = line.find(kMark); at != std::string_view::npos; at = line.find(kMark, at + 1)) {
    const std::string_view behind = line.substr(at + kMark.size());
    for (const std::string_view level : kLevels) {
      if (!behind.starts_with(level)) continue;
      auto found = origin_of(line.substr(0, at));
      if (!found) break;
      found->level = level.substr(0, level.size() - 1);
      found->text = behind.substr(level.size());
      return found;
    }
  }
  return std::nullopt;
}

std::string_view nccl_version_in(std::string_view text) {
  const std::size_t at = text.find("CCL version ");
  if (at == std::string_view::npos || at == 0 || (text[at - 1] != 'N' && text[at - 1] != 'R')) return {};
  std::string_view version = text.substr(at + 12);
  if (version.starts_with(": ")) version.remove_prefix(2);
  version = version.substr(0, std::min(version.find_first_of(" \t,"), std::size_t{40}));
  const bool number = version.size() > 2 && is_digit(version[0]) && version.find('.') != std::string_view::npos;
  return number ? version : std::string_view{};
}

std::string nccl_version_from(double number) {
  if (!(number >= 1000 && number <= 9999999)) return "";
  const auto code = static_cast<std::int64_t>(number);
  const std::int64_t major = code >= 10000 ? 10000 : 1000;  // since 2.9 the minor number has two digits
  return std::to_string(code / major) + "." + std::to_string(code % major / 100) + "." + std::to_string(code % 100);
}

}  // namespace gradsync
