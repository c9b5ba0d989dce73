#include "collectors/import/find_rank.h"

#include <string>

#include "collectors/import/byte_source.h"
#include "collectors/import/decimal.h"
#include "collectors/import/json_scan.h"
#include "collectors/import/recognise.h"
#include "collectors/import/trace_metadata.h"

namespace gradsync {
namespace {

constexpr int kMostRanks = 10'000'000;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kTailBytes = std::size_t{256} << 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string text) {
  for (char& c : text) c = lower(c);
  return text;
}

std::optional<int> number_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return valid_rank(integer_from(text.substr(at, end - at)));
}

// "rank" as a word of its own or the end of one ("my_rank"), then at most one separator, then the number.
std::optional<int> after_the_word(std::string_view name) {
  for (std::size_t at = name.find("rank"); at != std::string_view::npos; at = name.find("rank", at + 1)) {
    if (at > 0 && name[at - 1] >= 'a' && name[at - 1] <= 'z') continue;  // frank3
    std::size_t digits = at + 4;
    if (digits < name.size() && std::string_view("-_=.: ").find(name[digits]) != std::string_view::npos) ++digits;
    if (const std::optional<int> rank = number_at(name, digits)) return rank;
  }
  return std::nullopt;
}

// A number of at most four digits between dots; the first one counts. Longer ones are dates and process ids.
std::optional<int> between_dots(std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    std::size_t end = dot + 1;
    while (end < name.size() && is_digit(name[end])) ++end;
    const std::size_t digits = end - dot - 1;
    if (digits == 0 || digits > 4 || end == name.size() || name[end] != '.') continue;
    return number_at(name, dot + 1);
  }
  return std::nullopt;
}

// The value of "distributedInfo" in the last part of a trace; a quote with a backslash before it is within a text.
std::string distributed_info_of(std::string_view tail) {
  constexpr std::string_view key = "\"distributedInfo\"";
  const std::size_t at = tail.rfind(key);
  if (at == std::string_view::npos || (at > 0 && tail[at - 1] == '\\')) return {};
  const std::size_t brace = tail.find('{', at);
  if (brace == std::string_view::npos) return {};
  const Scan value = scan_value(tail.substr(brace));
  if (value.state != ScanState::complete) return {};
  return "{\"distributedInfo\":" + std::string(tail.substr(brace, value.length)) + "}";
}

// Up to kTailBytes from the end of what `source` still holds.
std::string read_tail(ByteSource& source, std::string text) {
  std::string piece(kPieceBytes, '\0');
  while (const std::size_t count = source.read(piece.data(), piece.size())) {
    text.append(piece, 0, count);
    if (text.size() > kTailBytes) text.erase(0, text.size() - kTailBytes);
  }
  return text;
}

}  // namespace

const char* to_string(RankSource source) {
  switch (source) {
    case RankSource::none:
      return "none";
    case RankSource::caller:
      return "caller";
    case RankSource::distributed_info:
      return "distributedInfo";
    case RankSource::file_name:
      return "file name";
    case RankSource::file_number:
      return "number in the file name";
  }
  return "none";
}

std::optional<int> valid_rank(const std::optional<std::int64_t>& told) {
  if (!told || *told < 0 || *told >= kMostRanks) return std::nullopt;
  return static_cast<int>(*told);
}

FoundRank rank_from_name(const std::filesystem::path& path) {
  const std::string name = lower(path.filename().string());
  if (const std::optional<int> rank = after_the_word(name)) return {rank, RankSource::file_name};
  if (const std::optional<int> rank = between_dots(name)) return {rank, RankSource::file_number};
  return {};
}

Result<FoundRank> find_rank(const std::filesystem::path& path) {
  const Result<void> trace = check_chrome_trace(path);
  if (!trace) return trace.error();
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return source.error();
  std::string text(kPieceBytes, '\0');
  text.resize(source->read(text.data(), text.size()));
  TraceMetadata metadata;
  const EventArrayStart start = find_event_array(text);
  if (start.state == ArrayStart::found && !start.bare) {
    const std::size_t brace = text.find('{');
    read_metadata(text.substr(brace, start.key - brace) + "\"\":0}", metadata);
  }
  if (!metadata.rank && !start.bare) read_metadata(distributed_info_of(read_tail(*source, std::move(text))), metadata);
  if (const std::optional<int> rank = valid_rank(metadata.rank)) return FoundRank{rank, RankSource::distributed_info};
  return rank_from_name(path);
}

}  // namespace gradsync
