#include "src/hosttext/proc_tasks.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

// The next line of `text`, taken off it.
std::string_view take_line(std::string_view& text) {
  const std::size_t length = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return line;
}

std::optional<Nanoseconds> nanoseconds(std::string_view word) {
  const auto value = parse_unsigned(word);
  if (!value || *value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<Nanoseconds>(*value);
}

}  // namespace

std::optional<SchedStat> parse_schedstat(std::string_view text) {
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 3) return std::nullopt;
  const auto run = nanoseconds(words[0]), wait = nanoseconds(words[1]);
  const auto slices = parse_unsigned(words[2]);
  if (!run || !wait || !slices) return std::nullopt;
  return SchedStat{*run, *wait, *slices};
}

ThreadStatus parse_thread_status(std::string_view text) {
  ThreadStatus status;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon), value = trim(line.substr(colon + 1));
    if (key == "Name") status.name = value;
    if (key == "State" && !value.empty()) status.state = value.front();
    if (key == "voluntary_ctxt_switches") status.voluntary = parse_unsigned(value);
    if (key == "nonvoluntary_ctxt_switches") status.involuntary = parse_unsigned(value);
    if (key == "Cpus_allowed_list") status.cpus_allowed = value;
  }
  return status;
}

std::optional<std::uint64_t> parse_migrations(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with("se.nr_migrations")) continue;
    const std::size_t colon = line.find(':');
    return colon == std::string_view::npos ? std::nullopt : parse_unsigned(trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

}  // namespace gradsync
