#include "src/hosttext/perf_latency.h"

#include <limits>

#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostTasks = 262144, kMostInfos = 8, kMostFields = 32;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (fields.size() < kMostFields) {
    const std::size_t bar = line.find('|');
    fields.push_back(trim(line.substr(0, bar)));
    if (bar == std::string_view::npos) break;
    line.remove_prefix(bar + 1);
  }
  return fields;
}

// "avg:   4.927 ms" → µs.
std::optional<double> milliseconds_behind(std::string_view field, std::string_view label) {
  if (!field.starts_with(label) || !field.ends_with(" ms")) return std::nullopt;
  field.remove_prefix(label.size());
  field.remove_suffix(3);
  const auto ns = parse_milliseconds(trim(field));
  return ns ? std::optional(to_us(*ns)) : std::nullopt;
}

// The name may hold bars; the fields behind it are known by their place before "avg:".
std::optional<ThreadWait> task_of(std::string_view line) {
  const std::vector<std::string_view> fields = fields_of(line);
  std::size_t average = 3;
  while (average + 1 < fields.size() && !fields[average].starts_with("avg:")) ++average;
  if (average + 1 >= fields.size()) return std::nullopt;
  const auto run = milliseconds_behind(fields[average - 2], ""), mean = milliseconds_behind(fields[average], "avg:"),
             longest = milliseconds_behind(fields[average + 1], "max:");
  const auto count = parse_unsigned(fields[average - 1]);
  if (!run || !mean || !longest || !count || *count > 0x7fffffffffff) return std::nullopt;
  const char* const name_end = fields[average - 3].data() + fields[average - 3].size();
  ThreadWait task = unknown_wait(std::string(trim(line.substr(0, static_cast<std::size_t>(name_end - line.data())))));
  task.count = static_cast<std::int64_t>(*count);
  task.run_us = *run;
  task.mean_us = *mean;
  task.max_us = *longest;
  task.wait_us = *mean * static_cast<double>(task.count);
  return task;
}

// "0.5% lost events (12 out of 2400, in 3 chunks)" → 12.
std::int64_t lost_of(std::string_view info) {
  const std::size_t open = info.find('(');
  if (info.find("lost events (") == std::string_view::npos || open == std::string_view::npos) return 0;
  const std::string_view number = info.substr(open + 1, info.find(' ', open) - open - 1);
  const auto lost = parse_unsigned(number);
  return lost && *lost < 0x7fffffffffff ? static_cast<std::int64_t>(*lost) : 0;
}

}  // namespace

bool is_latency_header(std::string_view line) {
  const std::vector<std::string_view> fields = fields_of(line);
  return fields.size() >= 5 && fields[0] == "Task" && fields[1] == "Runtime ms" &&
         fields[3].find("delay ms") != std::string_view::npos;
}

void PerfLatencyParser::add_line(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.starts_with("INFO: ")) {
    const std::string_view info = text.substr(6);
    table_.lost_events += lost_of(info);
    if (table_.infos.size() < kMostInfos) table_.infos.emplace_back(info.substr(0, 120));
    return;
  }
  if (text.find('|') == std::string_view::npos || is_latency_header(line) || text.starts_with("TOTAL:")) return;
  std::optional<ThreadWait> task = task_of(line);
  if (!task || table_.tasks.size() == kMostTasks) {
    ++table_.broken_rows;
    return;
  }
  if (task->count > 0 && task->max_us == 0) {
    ++table_.zero_tasks;
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    task->mean_us = task->max_us = task->wait_us = unknown;
    task->count = 0;
  }
  table_.tasks.push_back(std::move(*task));
}

}  // namespace gradsync
