#include "src/hosttext/time_stamp.h"

#include <chrono>
#include <vector>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr double kFirstEpoch = 1e9, kLastEpoch = 1e10;  // 2001 to 2286
constexpr double kDay = 86400;

// "12:44:22" or "12:44:22.5", with what may follow it of a zone: "Z", "+01:00".
std::optional<double> time_of_day(std::string_view word) {
  word = word.substr(0, word.find_first_of("Z+-,"));
  if (word.size() < 8 || word[2] != ':' || word[5] != ':') return std::nullopt;
  const auto hours = parse_unsigned(word.substr(0, 2)), minutes = parse_unsigned(word.substr(3, 2));
  const auto ns = parse_seconds(word.substr(6));
  if (!hours || !minutes || !ns || *hours > 23 || *minutes > 59 || *ns >= 61'000'000'000) return std::nullopt;
  return static_cast<double>(*hours * 3600 + *minutes * 60) + static_cast<double>(*ns) * 1e-9;
}

// "2026-11-29" → seconds since 1970 of its midnight.
std::optional<double> calendar_date(std::string_view word) {
  if (word.size() != 10 || word[4] != '-' || word[7] != '-') return std::nullopt;
  const auto year = parse_unsigned(word.substr(0, 4)), month = parse_unsigned(word.substr(5, 2)),
             day = parse_unsigned(word.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) * kDay;
}

std::optional<double> epoch(const std::vector<std::string_view>& words) {
  // A shorter label is a row of /proc/interrupts: "ERR: 1737461878".
  const bool labelled = words.size() == 2 && words[0].size() > 5 && words[0].ends_with(':');
  if (words.size() != 1 && !labelled) return std::nullopt;
  const std::optional<Nanoseconds> ns = parse_seconds(words.back());
  if (!ns) return std::nullopt;
  const double seconds = static_cast<double>(*ns) * 1e-9;
  return seconds >= kFirstEpoch && seconds < kLastEpoch ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::optional<TimeStamp> parse_time_stamp(std::string_view line) {
  if (line.size() > 200) return std::nullopt;
  const std::vector<std::string_view> words = split_words(line);
  if (const auto seconds = epoch(words)) return TimeStamp{StampKind::epoch, *seconds};
  std::optional<double> day;
  for (const std::string_view word : words) {
    if (const auto date = calendar_date(word.substr(0, 10))) {
      day = date;
      if (word.size() <= 11) continue;
      if (const auto time = time_of_day(word.substr(11))) return TimeStamp{StampKind::date, *date + *time};
    }
    if (const auto time = time_of_day(word))
      return day ? TimeStamp{StampKind::date, *day + *time} : TimeStamp{StampKind::time_of_day, *time};
  }
  return std::nullopt;
}

std::optional<double> seconds_between(const TimeStamp& before, const TimeStamp& after) {
  if (before.kind != after.kind) return std::nullopt;
  double seconds = after.seconds - before.seconds;
  if (seconds < 0 && before.kind == StampKind::time_of_day) seconds += kDay;
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace gradsync
