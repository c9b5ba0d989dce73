#include "collectors/host/switch_account.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "src/hosttext/numbers.h"

namespace gradsync {

std::string SwitchAccount::name_of(std::int64_t tid) const {
  std::int64_t named = tid;
  for (int depth = 0; depth < 16 && !names_.contains(named); ++depth) {
    const auto parent = parents_.find(named);
    if (parent == parents_.end()) break;
    named = parent->second;
  }
  const auto name = names_.find(named);
  return (name == names_.end() ? "?" : name->second) + ":" + std::to_string(tid);
}

void SwitchAccount::add(const SwitchRecord& record) {
  if (record.kind == SwitchRecord::Kind::in) {
    const auto wait = waiting_.find(record.tid);
    if (wait != waiting_.end()) {
      came_back(record, wait->second);
      waiting_.erase(wait);
    }
    // Whoever was preempted here since the last switch went for this one.
    for (const std::int64_t tid : preempted_on_[record.cpu])
      if (const auto other = waiting_.find(tid); other != waiting_.end() && other->second.cpu == record.cpu)
        if (other->second.by == 0) other->second.by = record.tid;
    preempted_on_[record.cpu].clear();
    return;
  }
  waiting_.erase(record.tid);
  if (record.kind == SwitchRecord::Kind::out) return;
  waiting_[record.tid] = {record.at, record.cpu, 0};
  preempted_on_[record.cpu].push_back(record.tid);
}

void SwitchAccount::came_back(const SwitchRecord& record, const Waiting& wait) {
  if (record.at < wait.since) return;
  if (waits_ >= kMostWaits || (threads_.size() >= kMostThreads && !threads_.contains(record.tid))) {
    ++dropped_;
    return;
  }
  ++waits_;
  ThreadPreemptions& thread = threads_[record.tid];
  const Nanoseconds waited = record.at - wait.since;
  thread.pid = record.pid;
  thread.waits_us.push_back(static_cast<float>(to_us(waited)));
  thread.by[wait.by] += waited;
  if (waited > thread.longest) {
    thread.longest = waited;
    thread.longest_at = record.at;
  }
  if (waited < kLeastWait) return;
  if (held_.size() < kMostHeldUp)
    held_.push_back({record.pid, record.tid, wait.by, record.cpu, wait.since, record.at});
  else
    ++dropped_;
}

void SwitchAccount::lose_sight() {
  waiting_.clear();
  preempted_on_.clear();
}

std::vector<HeldUp> SwitchAccount::held_up() const {
  std::vector<HeldUp> held;
  for (const Held& one : held_) {
    HeldUp wait;
    wait.pid = one.pid;
    wait.tid = one.tid;
    wait.cpu = one.cpu;
    wait.start = one.start;
    wait.end = one.end;
    wait.thread = name_of(one.tid);
    wait.thread.resize(wait.thread.rfind(':'));
    wait.by = one.by == 0 ? kOthers : name_of(one.by);
    held.push_back(std::move(wait));
  }
  return held;
}

ThreadSeen SwitchAccount::seen(std::int64_t tid, ThreadWait sums) const {
  ThreadSeen one{std::move(sums), 0, unknown_wait(""), 0};
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return one;
  std::vector<float> waits = known->second.waits_us;
  summarise_delays(waits, one.preempted);
  one.preempted_longest_at = known->second.longest_at;
  const auto& by = known->second.by;
  const auto most =
      std::max_element(by.begin(), by.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  one.wait.preempted_by = most->first == 0 ? kOthers : name_of(most->first);
  return one;
}

std::vector<ThreadSeen> SwitchAccount::beside(std::vector<ThreadWait> sums) const {
  std::vector<ThreadSeen> all;
  std::set<std::int64_t> told;
  for (ThreadWait& wait : sums) {
    const std::int64_t tid = wait.tid;
    told.insert(tid);
    all.push_back(seen(tid, std::move(wait)));
  }
  for (const auto& [tid, thread] : threads_)
    if (!told.contains(tid)) all.push_back(seen(tid, unknown_wait(name_of(tid))));
  return all;
}

Series SwitchAccount::series(Nanoseconds began) const {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Series series{"preemptions",
                {"thread", "longest_wake_us", "longest_wake_at_s", "count", "p50_us", "p99_us", "max_us", "max_at_s",
                 "preempted_by"},
                {}};
  for (const auto& [tid, thread] : threads_) {
    const ThreadSeen one = seen(tid, unknown_wait(name_of(tid)));
    series.rows.push_back({one.wait.thread, kNaN, kNaN, one.preempted.count, one.preempted.p50_us, one.preempted.p99_us,
                           one.preempted.max_us, static_cast<double>(one.preempted_longest_at - began) * 1e-9,
                           one.wait.preempted_by});
  }
  return series;
}

}  // namespace gradsync
