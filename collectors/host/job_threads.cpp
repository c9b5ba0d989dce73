#include "collectors/host/job_threads.h"

#include "collectors/host/job_tree.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"

namespace gradsync {

std::int64_t status_number(const std::filesystem::path& proc, std::int64_t id, std::string_view key) {
  const Result<std::string> text = read_file(proc / std::to_string(id) / "status", 65536);
  const std::size_t at = text ? text->find(key) : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(*text).substr(at + key.size());
  return static_cast<std::int64_t>(parse_unsigned(trim(rest.substr(0, rest.find('\n')))).value_or(0));
}

JobThreads::JobThreads(const std::filesystem::path& root, std::int64_t ancestor, Ancestor itself)
    : proc_(root / "proc"), ancestor_(ancestor), itself_(itself) {}

std::vector<JobThreads::Thread> JobThreads::look() {
  if (whole_machine()) return {};
  std::vector<std::int64_t> pids = descendants(proc_, ancestor_);
  if (itself_ == Ancestor::of_it) pids.push_back(ancestor_);
  pids_.insert(pids.begin(), pids.end());
  std::vector<Thread> threads;
  for (const std::int64_t pid : pids)
    for (const std::int64_t tid : numbered_folders(proc_ / std::to_string(pid) / "task")) {
      processes_[tid] = pid;
      threads.push_back({pid, tid});
    }
  return threads;
}

// Whether `pid` descends from the job; remembered when it does.
bool JobThreads::adopt(std::int64_t pid) {
  if (whole_machine() || pids_.contains(pid)) return true;
  std::int64_t above = pid;
  for (int depth = 0; depth < 64 && above > 1; ++depth) {
    above = status_number(proc_, above, "\nPPid:");
    if (above != ancestor_ && !pids_.contains(above)) continue;
    pids_.insert(pid);
    return true;
  }
  return false;
}

// A child of the job belongs to it from its first moment, however soon it ends.
bool JobThreads::born(std::int64_t tid, std::int64_t parent) {
  if (whole_machine()) return false;
  const auto known = processes_.find(parent);
  const bool by_job = known != processes_.end() && pids_.contains(known->second);
  if (!by_job && parent != ancestor_) return false;
  const std::int64_t told = status_number(proc_, tid, "\nTgid:");
  const std::int64_t pid = told > 0 ? told : tid;                       // gone already
  if (pid == ancestor_ && itself_ == Ancestor::left_out) return false;  // a thread of our own
  processes_[tid] = pid;
  pids_.insert(pid);
  return true;
}

std::int64_t JobThreads::process_of(std::int64_t tid) {
  const auto known = processes_.find(tid);
  if (known != processes_.end()) return known->second;
  // A thread younger than the last look.
  const std::int64_t pid = status_number(proc_, tid, "\nTgid:");
  return processes_[tid] = pid > 0 && adopt(pid) ? pid : 0;
}

bool JobThreads::has(std::int64_t tid) const {
  if (whole_machine()) return true;
  const auto process = processes_.find(tid);
  return process != processes_.end() && pids_.contains(process->second);
}

}  // namespace gradsync
