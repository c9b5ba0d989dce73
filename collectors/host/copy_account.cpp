#include "collectors/host/copy_account.h"

#include <numeric>

namespace gradsync {

std::int64_t ThreadCopies::copies() const {
  return std::accumulate(by.begin(), by.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& part) { return sum + part.second; });
}

void CopyAccount::add(const CopySample& sample) {
  ++samples_;
  const Key key{sample.pid, sample.tid};
  auto known = threads_.find(key);
  if (known == threads_.end()) {
    if (threads_.size() >= kMostThreads) {
      ++dropped_;
      return;
    }
    known = threads_.emplace(key, ThreadCopies{}).first;
  }
  ++known->second.samples;
  const std::optional<std::string_view> by = map_.copies_for(sample.chain);
  if (!by) return;
  ++known->second.by[*by];
  if (seen_.size() < kMostSeen)
    seen_.push_back({sample.pid, sample.tid, sample.at, *by});
  else
    ++dropped_;
}

Series CopyAccount::series(const std::string& machine, const std::string& source) const {
  Series series{"usercopy", {"machine", "pid", "process", "tid", "thread", "by", "copies", "samples", "source"}, {}};
  for (const auto& [key, thread] : threads_) {
    const auto add = [&, &key = key, &thread = thread](std::string_view by, std::int64_t copies) {
      series.rows.push_back({machine, key.first, thread.process, key.second, thread.thread, std::string(by), copies,
                             thread.samples, source});
    };
    for (const auto& [by, copies] : thread.by) add(by, copies);
    if (thread.by.empty()) add("", 0);
  }
  return series;
}

}  // namespace gradsync
