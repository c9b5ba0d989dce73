// Samples of what CPUs do, counted by thread: how many there are and how many stand in a copy for whom. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/hosttext/copy_symbols.h"
#include "src/model/event.h"
#include "src/model/series.h"

namespace gradsync {

struct CopySample {
  std::int64_t pid = 0, tid = 0;
  Nanoseconds at = 0;
  std::span<const std::uint64_t> chain;  // addresses of the kernel, innermost first; empty: in user space
};

// One sample that stood in a copy.
struct CopySeen {
  std::int64_t pid = 0, tid = 0;
  Nanoseconds at = 0;
  std::string_view by;  // of the CopyMap: "send"
};

struct ThreadCopies {
  std::string process, thread;  // names
  std::int64_t samples = 0;
  std::map<std::string_view, std::int64_t> by;

  std::int64_t copies() const;
};

class CopyAccount {
 public:
  static constexpr std::size_t kMostThreads = 16384, kMostSeen = 200'000;
  using Key = std::pair<std::int64_t, std::int64_t>;  // process, thread

  CopyAccount() = default;  // knows no function, so no sample stands in a copy
  explicit CopyAccount(CopyMap map) : map_(std::move(map)) {}
  void add(const CopySample& sample);

  std::map<Key, ThreadCopies>& threads() { return threads_; }
  const std::map<Key, ThreadCopies>& threads() const { return threads_; }
  const std::vector<CopySeen>& seen() const { return seen_; }
  std::int64_t dropped() const { return dropped_; }  // of more threads or copies than are kept
  std::int64_t samples() const { return samples_; }

  // The series `usercopy`: a row for each thread and caller, and one with an empty caller for a thread without copies.
  Series series(const std::string& machine, const std::string& source) const;

 private:
  CopyMap map_;
  std::map<Key, ThreadCopies> threads_;
  std::vector<CopySeen> seen_;
  std::int64_t dropped_ = 0, samples_ = 0;
};

}  // namespace gradsync
