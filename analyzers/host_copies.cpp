#include "analyzers/host_copies.h"

#include <algorithm>

#include "analyzers/host_waits.h"

namespace gradsync {

HostCopies::HostCopies(const RankTimeline& rank) : rank_(rank), windows_(host_windows(rank, "copy_samples")) {
  for (const Event& event : rank.host_events)
    if (event.kind == Kind::copy && !is_bystander(rank.name(event))) copies_.push_back(event);
  std::stable_sort(copies_.begin(), copies_.end(), [](const Event& a, const Event& b) { return a.end < b.end; });
}

void HostCopies::add(const StepSpan& step, const StepActivity& seen) {
  if (!step.counted() || !holds(windows_, step.interval())) return;
  const IntervalSet exposed = claim(seen.activity, step.interval())[StepClass::comm];
  Nanoseconds in_step = 0, in_exposed = 0;
  auto copy = std::lower_bound(copies_.begin(), copies_.end(), step.start,
                               [](const Event& event, Nanoseconds time) { return event.end < time; });
  for (; copy != copies_.end() && copy->end < step.end; ++copy) {
    in_step += copy->duration();
    if (covered(exposed, {copy->end, copy->end + 1}) > 0) in_exposed += copy->duration();
  }
  rows_.push_back(
      {std::int64_t{rank_.rank}, step.number, exposed.length(), in_exposed, in_step, step.end - step.start});
}

void HostCopies::write(Summary& summary) const {
  if (rows_.empty()) return;
  Series& join =
      summary.table(kCopyJoinTable, {"rank", "step", "exposed_ns", "in_exposed_ns", "in_step_ns", "time_ns"});
  join.rows.insert(join.rows.end(), rows_.begin(), rows_.end());
  summary.table(kRankProcessTable, {"rank", "host", "pid"})
      .rows.push_back({std::int64_t{rank_.rank}, rank_.process.host, std::int64_t{rank_.process.pid}});
}

}  // namespace gradsync
