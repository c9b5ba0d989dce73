// The job's threads over time, from /proc: how long each ran and waited, from its birth (threads of a job that the
// doctor started) or from the first look (a process that was there before).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/hosttext/proc_tasks.h"
#include "src/hosttext/thread_waits.h"

namespace gradsync {

enum class Since { birth, first_look };

struct ThreadRecord {
  std::string name;
  SchedStat first, last;
  ThreadStatus first_status, last_status;
  std::optional<std::uint64_t> first_migrations, last_migrations;
  int looks = 0, looks_stopped = 0;  // stopped: state T, by a signal

  Nanoseconds run() const { return last.run - first.run; }
  Nanoseconds wait() const { return last.wait - first.wait; }
};

class ThreadTable {
 public:
  ThreadTable(std::filesystem::path proc, Since since) : proc_(std::move(proc)), since_(since) {}

  // One look at all threads of these processes.
  void look(const std::vector<std::int64_t>& pids);

  // By process and thread.
  const std::map<std::pair<std::int64_t, std::int64_t>, ThreadRecord>& threads() const { return threads_; }
  std::int64_t hidden() const { return hidden_; }    // without a schedstat
  std::int64_t dropped() const { return dropped_; }  // more threads than are kept

  // The longest wait first; what /proc does not tell (single waits) is not known.
  std::vector<ThreadWait> waits() const;

 private:
  void look_at(std::int64_t pid, std::int64_t tid);

  std::filesystem::path proc_;
  Since since_;
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadRecord> threads_;
  int looks_ = 0;
  std::int64_t hidden_ = 0, dropped_ = 0;
};

}  // namespace gradsync
