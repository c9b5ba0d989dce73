// Which threads belong to the job that is traced: those of a process's descendants, from /proc and from births that a
// trace shows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <unordered_map>
#include <vector>

namespace gradsync {

// Numbers of a process's status; 0 when it is not there. `key` as "\nPPid:".
std::int64_t status_number(const std::filesystem::path& proc, std::int64_t id, std::string_view key);

class JobThreads {
 public:
  struct Thread {
    std::int64_t pid = 0, tid = 0;
  };
  enum class Ancestor { left_out, of_it };

  // ancestor 0: every thread of the machine.
  JobThreads(const std::filesystem::path& root, std::int64_t ancestor, Ancestor itself);

  bool whole_machine() const { return ancestor_ == 0; }
  std::int64_t ancestor() const { return ancestor_; }
  const std::set<std::int64_t>& pids() const { return pids_; }
  // Looks at /proc: those of the job that live now. Nothing for the whole machine.
  std::vector<Thread> look();
  // The process of a thread; 0: of none of the job.
  std::int64_t process_of(std::int64_t tid);
  bool has(std::int64_t tid) const;
  // `parent` made the thread `tid`: true when it is the job's.
  bool born(std::int64_t tid, std::int64_t parent);

 private:
  bool adopt(std::int64_t pid);

  std::filesystem::path proc_;
  std::int64_t ancestor_;
  Ancestor itself_;
  std::set<std::int64_t> pids_;
  std::unordered_map<std::int64_t, std::int64_t> processes_;  // thread → process
};

}  // namespace gradsync
