#include "src/hosttext/thread_waits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/hosttext/numbers.h"

namespace gradsync {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostThreads = 65536, kMostDelays = 64'000'000, kMostPreemptors = 256;
constexpr std::int64_t kRunsToGap = 20;     // with more gaps the sums of a thread are not known
constexpr Nanoseconds kOvertakes = 50'000;  // between a wake-up and the switch to sleep that it overtakes

// Type 7, as src/base/statistics.h; the sample is large and sorted already.
double sorted_quantile(const std::vector<float>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  return low + (high - low) * (position - static_cast<double>(below));
}

}  // namespace

ThreadWait unknown_wait(std::string thread) {
  return {std::move(thread), 0, kNaN, kNaN, kNaN, kNaN, kNaN, "", kNaN, kNaN, kNaN};
}

void summarise_delays(std::vector<float>& delays_us, ThreadWait& wait) {
  wait.count = static_cast<std::int64_t>(delays_us.size());
  if (delays_us.empty()) return;
  std::sort(delays_us.begin(), delays_us.end());
  wait.p50_us = sorted_quantile(delays_us, 0.5);
  wait.p99_us = sorted_quantile(delays_us, 0.99);
  wait.max_us = delays_us.back();
  wait.mean_us = std::accumulate(delays_us.begin(), delays_us.end(), 0.0) / static_cast<double>(delays_us.size());
}

ThreadWaits::Thread* ThreadWaits::find(std::int64_t tid, std::string_view name) {
  const auto known = threads_.find(tid);
  if (known != threads_.end()) {
    // The name at the end is the program's own: before exec it is that of the parent.
    if (!name.empty() && known->second.name != name) known->second.name = name;
    return &known->second;
  }
  if (threads_.size() == kMostThreads) {
    ++dropped_;
    return nullptr;
  }
  Thread& made = threads_[tid];
  made.name = name;
  return &made;
}

// A wait is only as good as the order of its ends: an event before its predecessor is left out.
bool ThreadWaits::in_order(Nanoseconds at) {
  if (at < last_) {
    ++disordered_;
    return false;
  }
  last_ = at;
  return true;
}

void ThreadWaits::wakeup(Nanoseconds at, std::int64_t tid, std::string_view name) {
  if (tid == 0 || !in_order(at)) return;
  Thread* const thread = find(tid, name);
  if (thread == nullptr) return;
  if (thread->state == State::running) thread->woken_running = at;
  // Of sched_waking and sched_wakeup the first counts; but one after an overtaken switch proves that it did sleep.
  const bool slept = thread->state == State::woken && thread->overtaken;
  if (thread->state != State::asleep && thread->state != State::unknown && !slept) return;
  thread->state = State::woken;
  thread->overtaken = false;
  thread->since = at;
}

void ThreadWaits::put_on(Nanoseconds at, std::int64_t tid, Thread& thread, int cpu) {
  const Nanoseconds waited = at - thread.since;
  if (thread.state == State::woken || thread.state == State::preempted) {
    thread.wait += waited;
    if (heard_) heard_({tid, thread.name, thread.since, at, thread.state == State::preempted, thread.by, cpu});
  }
  if (thread.state == State::woken) {
    ++paired_;
    if (kept_ < kMostDelays) {
      ++kept_;
      thread.delays_us.push_back(static_cast<float>(to_us(waited)));
    } else {
      ++dropped_;
    }
  } else if (thread.state == State::preempted) {
    if (thread.preempted_by.size() < kMostPreemptors || thread.preempted_by.contains(thread.by))
      thread.preempted_by[thread.by] += waited;
  } else if (thread.state == State::asleep) {
    ++unseen_;
    ++thread.unseen;
  } else if (thread.state == State::running) {
    ++thread.gaps;
  } else {
    ++edges_;
  }
  ++thread.runs;
  if (thread.cpu >= 0 && thread.cpu != cpu) ++thread.migrations;
  thread.cpu = cpu;
  thread.state = State::running;
  thread.since = at;
}

void ThreadWaits::take_off(Nanoseconds at, Thread& thread, const SchedSwitch& change) {
  // Else it was on a CPU before the text began, or came to it in an event that is missing: it did not wait.
  if (thread.state == State::running) {
    thread.run += at - thread.since;
  } else if (thread.state == State::unknown || (thread.runs == 0 && thread.cpu < 0)) {
    ++edges_;
  } else {
    ++thread.gaps;
    const bool slept = thread.state != State::preempted;  // how long after its wake-up it ran is not known
    thread.unseen += slept ? 1 : 0;
    unseen_ += slept ? 1 : 0;
  }
  thread.cpu = change.cpu;
  thread.overtaken = !change.from_runnable && thread.woken_running > 0 && at - thread.woken_running < kOvertakes;
  thread.woken_running = 0;
  thread.state = change.from_runnable ? State::preempted : thread.overtaken ? State::woken : State::asleep;
  thread.since = at;
  thread.by = change.to;
}

void ThreadWaits::switched(Nanoseconds at, const SchedSwitch& change) {
  if (!in_order(at)) return;
  if (change.from != 0)
    if (Thread* const thread = find(change.from, change.from_name)) take_off(at, *thread, change);
  if (change.to != 0)
    if (Thread* const thread = find(change.to, change.to_name)) put_on(at, change.to, *thread, change.cpu);
}

void ThreadWaits::lose_sight() {
  for (auto& [tid, thread] : threads_) {
    thread.state = State::unknown;
    thread.woken_running = 0;
    thread.overtaken = false;
  }
}

Nanoseconds ThreadWaits::waited(std::int64_t tid) const {
  const auto known = threads_.find(tid);
  return known == threads_.end() ? 0 : known->second.wait;
}

std::string ThreadWaits::name_of(std::int64_t tid) const {
  if (tid == 0) return "idle";
  const auto known = threads_.find(tid);
  return known == threads_.end() ? "" : known->second.name + ":" + std::to_string(tid);
}

std::int64_t ThreadWaits::gaps() const {
  return std::accumulate(threads_.begin(), threads_.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& entry) { return sum + entry.second.gaps; });
}

std::int64_t ThreadWaits::unfinished() const {
  return std::count_if(threads_.begin(), threads_.end(), [](const auto& entry) {
    return entry.second.state == State::woken || entry.second.state == State::preempted;
  });
}

std::vector<ThreadWait> ThreadWaits::all() const {
  const auto named = [](const Thread& thread, std::int64_t tid) { return thread.name + ":" + std::to_string(tid); };
  std::vector<ThreadWait> waits;
  for (const auto& [tid, thread] : threads_) {
    ThreadWait wait = unknown_wait(named(thread, tid));
    std::vector<float> delays = thread.delays_us;
    summarise_delays(delays, wait);
    wait.tid = tid;
    wait.migrations = static_cast<double>(thread.migrations);
    wait.unseen = static_cast<double>(thread.unseen);
    if (thread.gaps * kRunsToGap <= thread.runs) {
      wait.wait_us = to_us(thread.wait);
      wait.run_us = to_us(thread.run);
    }
    const auto worst = std::max_element(thread.preempted_by.begin(), thread.preempted_by.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (worst != thread.preempted_by.end() && worst->second > 0) {
      const auto by = threads_.find(worst->first);
      wait.preempted_by = by != threads_.end() ? named(by->second, by->first) : worst->first == 0 ? "idle" : "";
    }
    waits.push_back(std::move(wait));
  }
  const auto known = [](const ThreadWait& wait) { return std::isnan(wait.wait_us) ? -1 : wait.wait_us; };
  std::sort(waits.begin(), waits.end(), [&](const ThreadWait& a, const ThreadWait& b) {
    return known(a) != known(b) ? known(a) > known(b) : a.thread < b.thread;
  });
  return waits;
}

}  // namespace gradsync
