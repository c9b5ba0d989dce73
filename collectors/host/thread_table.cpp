#include "collectors/host/thread_table.h"

#include <algorithm>
#include <cmath>

#include "collectors/host/job_tree.h"
#include "src/base/file.h"
#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr std::size_t kMostThreads = 16384;
constexpr int kStatusEvery = 5;  // looks: status and sched cost several times what schedstat does

std::string read_small(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, 1 << 20);
  return text ? *text : std::string();
}

}  // namespace

void ThreadTable::look(const std::vector<std::int64_t>& pids) {
  for (const std::int64_t pid : pids)
    for (const std::int64_t tid : numbered_folders(proc_ / std::to_string(pid) / "task")) look_at(pid, tid);
  ++looks_;
}

void ThreadTable::look_at(std::int64_t pid, std::int64_t tid) {
  const std::filesystem::path folder = proc_ / std::to_string(pid) / "task" / std::to_string(tid);
  const std::string text = read_small(folder / "schedstat");
  const std::optional<SchedStat> stat = parse_schedstat(text);
  if (!stat) {
    hidden_ += text.empty() ? 0 : 1;  // empty: it ended while we looked
    return;
  }
  if (threads_.size() >= kMostThreads && !threads_.contains({pid, tid})) {
    ++dropped_;
    return;
  }
  const auto [entry, is_new] = threads_.try_emplace({pid, tid});
  ThreadRecord& record = entry->second;
  const bool reused = !is_new && stat->run < record.last.run;  // the number went to another thread
  if (is_new || reused) record = ThreadRecord{};
  if ((is_new || reused) && since_ == Since::first_look) record.first = *stat;
  record.last = *stat;
  ++record.looks;
  if (record.looks > 1 && tid != pid && looks_ % kStatusEvery != 0) return;
  record.last_status = parse_thread_status(read_small(folder / "status"));
  record.last_migrations = parse_migrations(read_small(folder / "sched"));
  record.name = record.last_status.name;  // the name at the end is the program's own
  record.looks_stopped += record.last_status.state == 'T' ? 1 : 0;
  if (record.looks > 1) return;
  record.first_status = record.last_status;
  record.first_migrations = record.last_migrations;
  if (since_ == Since::first_look) return;
  record.first_status.voluntary = record.last_status.voluntary ? std::optional<std::uint64_t>(0) : std::nullopt;
  record.first_status.involuntary = record.last_status.involuntary ? std::optional<std::uint64_t>(0) : std::nullopt;
  if (record.last_migrations) record.first_migrations = 0;
}

std::vector<ThreadWait> ThreadTable::waits() const {
  std::vector<ThreadWait> waits;
  for (const auto& [key, record] : threads_) {
    ThreadWait wait = unknown_wait(record.name + ":" + std::to_string(key.second));
    wait.tid = key.second;
    if (record.first_migrations && record.last_migrations)
      wait.migrations = static_cast<double>(*record.last_migrations) - static_cast<double>(*record.first_migrations);
    wait.wait_us = to_us(record.wait());
    wait.run_us = to_us(record.run());
    waits.push_back(std::move(wait));
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const ThreadWait& a, const ThreadWait& b) { return a.wait_us > b.wait_us; });
  return waits;
}

}  // namespace gradsync
