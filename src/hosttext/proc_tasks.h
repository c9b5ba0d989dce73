// What /proc says of one thread: its share of the CPU (schedstat), how it left it (status), where it went (sched). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/model/event.h"

namespace gradsync {

// /proc/PID/task/TID/schedstat: "4522180 137012 31". The wait holds the time that a CPU quota held the thread back.
struct SchedStat {
  Nanoseconds run = 0, wait = 0;
  std::uint64_t slices = 0;
};
std::optional<SchedStat> parse_schedstat(std::string_view text);

// /proc/PID/task/TID/status. What the text does not hold is absent.
struct ThreadStatus {
  std::string name;
  char state = 0;  // R S D T t Z
  std::optional<std::uint64_t> voluntary, involuntary;
  std::string cpus_allowed;  // "0-3,8"
};
ThreadStatus parse_thread_status(std::string_view text);

// se.nr_migrations of /proc/PID/task/TID/sched.
std::optional<std::uint64_t> parse_migrations(std::string_view text);

}  // namespace gradsync
