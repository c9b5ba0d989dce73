// ForkedRanks: the other ranks of a sweep on one machine, as forks of this process, which is rank 0. They are silent
// (standard streams are /dev/null), leave Ctrl-C to rank 0, die with it, and are reaped here.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace gradsync {

class ForkedRanks {
 public:
  ~ForkedRanks();  // waits a moment for those that end by themselves, then kills
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  // A rank that has ended before its time, and how: "was killed by signal 9 (Killed)". Any thread.
  std::optional<std::pair<int, std::string>> ended();

 private:
  friend struct Forked;
  friend Result<struct Forked> fork_ranks(int ranks);
  ForkedRanks() = default;
  struct Child {
    pid_t pid = -1;  // -1: reaped
    int rank = 0;
  };
  bool reap(Child& child, int options, int& status);

  std::mutex mutex_;
  std::vector<Child> children_;
};

struct Forked {
  int rank = 0;                         // of the process that this returns in
  std::unique_ptr<ForkedRanks> others;  // in rank 0 only
};

// Call before threads are started. Returns in every rank.
Result<Forked> fork_ranks(int ranks);

}  // namespace gradsync
