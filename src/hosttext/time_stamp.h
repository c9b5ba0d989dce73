// The line with a time that people put before each snapshot: `date`, `date +%s.%N`, `date -Is`, "Timestamp: 17374.2".
#pragma once

#include <optional>
#include <string_view>

namespace gradsync {

enum class StampKind { epoch, date, time_of_day };

struct TimeStamp {
  StampKind kind = StampKind::epoch;
  double seconds = 0;  // since 1970, since 1970 by the local calendar, or since midnight
  bool operator==(const TimeStamp&) const = default;
};

// Nothing when the line holds no time. A number counts only when it can be a time since 1970 (from 2001 on) and the
// line is nothing but it, or "label: it".
std::optional<TimeStamp> parse_time_stamp(std::string_view line);

// Seconds between two stamps of one kind; a time of day may pass midnight once. Nothing when it is not above zero.
std::optional<double> seconds_between(const TimeStamp& before, const TimeStamp& after);

}  // namespace gradsync
