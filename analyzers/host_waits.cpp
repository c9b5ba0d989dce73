#include "analyzers/host_waits.h"

#include <algorithm>
#include <set>

#include "analyzers/classes.h"

namespace gradsync {
namespace {

Cell whole(Nanoseconds value) { return static_cast<std::int64_t>(value); }

bool is_wait(const Event& event) {
  return event.kind == Kind::sched_wait || event.kind == Kind::irq || event.kind == Kind::softirq;
}

IntervalSet set_of(const std::vector<Interval>& intervals) { return IntervalSet(intervals); }

}  // namespace

std::int64_t tid_of(std::string_view thread) {
  const std::size_t colon = thread.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == thread.size()) return -1;
  std::int64_t tid = 0;
  for (const char c : thread.substr(colon + 1)) {
    if (c < '0' || c > '9' || tid > 1'000'000'000) return -1;
    tid = tid * 10 + (c - '0');
  }
  return tid;
}

bool is_bystander(std::string_view name) {
  for (const std::string_view start : {"pt_data", "pin_memory", "cuda-EvtHandlr", "cuda-EvtHndlr", "pt_nccl_watchdg",
                                       "pt_nccl_heartbt", "jemalloc_bg"})
    if (name.starts_with(start)) return true;
  return false;
}

IntervalSet host_windows(const RankTimeline& rank, std::string_view trace) {
  std::vector<Interval> windows;
  for (const Event& event : rank.host_events)
    if (event.kind == Kind::window && rank.name(event) == trace) windows.push_back({event.start, event.end});
  return IntervalSet(std::move(windows));
}

bool holds(const IntervalSet& windows, Interval window) {
  const auto& all = windows.intervals();
  return std::any_of(all.begin(), all.end(),
                     [&](const Interval& one) { return one.start <= window.start && window.end <= one.end; });
}

HostWaits::HostWaits(const RankTimeline& rank) : rank_(rank), windows_(host_windows(rank, "sched_trace")) {
  if (windows_.empty()) {
    windows_ = host_windows(rank, "switch_records");
    wakeups_ = false;
  }
  for (const Event& event : rank.host_events)
    if (is_wait(event)) longest_ = std::max(longest_, event.duration());
  all_traced_ = std::all_of(rank.steps.begin(), rank.steps.end(),
                            [this](const StepSpan& step) { return !step.plain() || holds(windows_, step.interval()); });
  for (const LaneInfo& lane : rank.lanes)
    if (rank.training_lane && lane.id == *rank.training_lane) training_tid_ = lane.tid;
}

std::vector<HostWaits::Stretch> HostWaits::stretches(Interval window) const {
  std::vector<Stretch> found;
  const auto& events = rank_.host_events;
  auto event = std::lower_bound(events.begin(), events.end(), window.start - longest_,
                                [](const Event& one, Nanoseconds time) { return one.start < time; });
  for (; event != events.end() && event->start < window.end; ++event) {
    if (!is_wait(*event) || event->end <= window.start) continue;
    const bool training = static_cast<std::int64_t>(event->sequence) == training_tid_;
    if (!training && is_bystander(rank_.name(*event))) continue;
    found.push_back({{std::max(event->start, window.start), std::min(event->end, window.end)}, &*event, training});
  }
  return found;
}

// What held the threads up inside the exposed communication: interrupts, a quota, threads of its own, others.
void HostWaits::charge(const std::vector<Stretch>& stretches, const IntervalSet& exposed, std::vector<Cell>& row) {
  std::vector<Interval> irq, quota, own;
  for (const Stretch& stretch : stretches) {
    const Nanoseconds inside = covered(exposed, stretch.interval);
    if (inside == 0) continue;
    const std::string_view by = rank_.name(stretch.event->group);
    const bool wait = stretch.event->kind == Kind::sched_wait;
    if (!wait) irq.push_back(stretch.interval);
    if (wait && by == "idle") quota.push_back(stretch.interval);
    if (wait && tid_of(by) > 0 && std::any_of(rank_.lanes.begin(), rank_.lanes.end(), [&](const LaneInfo& lane) {
          return lane.tid == tid_of(by);
        }))
      own.push_back(stretch.interval);
  }
  for (const auto& part : {irq, quota, own}) row.push_back(whole(intersect(set_of(part), exposed).length()));
}

// Who had the CPU while a thread was held up: the training thread anywhere, others inside the exposed communication.
void HostWaits::name(const std::vector<Stretch>& stretches, const IntervalSet& exposed) {
  for (const Stretch& stretch : stretches) {
    const Nanoseconds counted =
        stretch.training ? stretch.interval.end - stretch.interval.start : covered(exposed, stretch.interval);
    if (counted > 0)
      by_[{std::string(rank_.name(*stretch.event)), std::string(rank_.name(stretch.event->group))}] += counted;
  }
}

void HostWaits::take(const StepSpan& step, StepActivity& seen) {
  if (windows_.empty() || !step.plain() || !holds(windows_, step.interval())) return;
  const std::vector<Stretch> all = stretches(step.interval());
  std::vector<Interval> training, any;
  for (const Stretch& stretch : all) {
    any.push_back(stretch.interval);
    if (stretch.training) training.push_back(stretch.interval);
  }
  const Activity claimed = claim(seen.activity, step.interval());
  const IntervalSet& exposed = claimed[StepClass::comm];
  const IntervalSet explained = intersect(set_of(any), exposed);
  IntervalSet elsewhere = subtract(set_of(training), exposed);
  // A device that has work does not wait for its host.
  if (seen.on_device)
    for (const StepClass busy : {StepClass::compute, StepClass::compress, StepClass::decompress, StepClass::memcpy})
      elsewhere = subtract(elsewhere, claimed[busy]);
  if (step.counted()) {
    std::vector<Cell> row{whole(rank_.rank), whole(step.number), whole(exposed.length()), whole(explained.length())};
    charge(all, exposed, row);
    name(all, exposed);
    row.push_back(whole(elsewhere.length()));
    row.push_back(whole(step.end - step.start));
    row.push_back(whole(wakeups_));
    row.push_back(whole(all_traced_ && wakeups_));
    rows_.push_back(std::move(row));
  }
  if (!all_traced_ || !wakeups_) return;  // a class that holds a part of its time is none

  const IntervalSet held = unite(explained, elsewhere);
  for (const StepClass one : {StepClass::compute, StepClass::compress, StepClass::decompress, StepClass::comm,
                              StepClass::host_sync, StepClass::launch})
    seen.activity[one] = subtract(seen.activity[one], held);
  for (IntervalSet* part : {&seen.forward, &seen.backward, &seen.optimizer, &seen.gradient})
    *part = subtract(*part, held);
  seen.activity[StepClass::sched_irq] = held;
}

void HostWaits::write(Summary& summary) const {
  if (rows_.empty()) return;
  Series& join = summary.table(kHostJoinTable, {"rank", "step", "exposed_ns", "explained_ns", "irq_ns", "quota_ns",
                                                "own_ns", "training_ns", "time_ns", "wakeups", "classed"});
  join.rows.insert(join.rows.end(), rows_.begin(), rows_.end());
  Series& held = summary.table(kHeldUpTable, {"rank", "thread", "by", "ns"});
  for (const auto& [who, ns] : by_) held.rows.push_back({whole(rank_.rank), who.first, who.second, whole(ns)});
  std::set<std::int64_t> tids;
  for (const LaneInfo& lane : rank_.lanes) tids.insert(lane.tid);
  for (const Event& event : rank_.host_events)
    if (event.kind == Kind::sched_wait) tids.insert(static_cast<std::int64_t>(event.sequence));
  Series& threads = summary.table(kJobThreadTable, {"rank", "tid"});
  for (const std::int64_t tid : tids)
    if (tid > 0) threads.rows.push_back({whole(rank_.rank), tid});
}

}  // namespace gradsync
