#include "analyzers/step_rows.h"

#include <algorithm>

#include "analyzers/rows.h"
#include "analyzers/startup_part.h"

namespace gradsync {
namespace {

Cell whole(Nanoseconds value) { return static_cast<std::int64_t>(value); }

void append_communication(const StepActivity& seen, const Activity& claimed, std::vector<Cell>& row) {
  row.push_back(whole(seen.communicating.length()));
  row.push_back(whole(intersect(seen.communicating, claimed[StepClass::compute]).length()));
}

void append_compression(const StepActivity& seen, const StepSpan& step, std::vector<Cell>& row) {
  const IntervalSet all =
      clip(unite(seen.activity[StepClass::compress], seen.activity[StepClass::decompress]), step.interval());
  row.push_back(whole(all.length()));
  const Interval after{seen.compute_end > 0 ? seen.compute_end : step.end, step.end};
  row.push_back(whole(clip(clip(seen.activity[StepClass::compress], step.interval()), after).length()));
}

// Of a device: it has nothing to do between two kernels that compress or reconstruct, because the next is still being
// launched.
Nanoseconds gaps_in_compression(const StepActivity& seen, const Activity& claimed) {
  if (!seen.kernels_have_phases) return 0;
  const IntervalSet handling = unite(claimed[StepClass::compress], claimed[StepClass::decompress]);
  const IntervalSet idle = unite(claimed[StepClass::idle], claimed[StepClass::launch]);
  const std::vector<Interval>& kernels = handling.intervals();
  Nanoseconds sum = 0;
  for (const Interval& gap : idle.intervals()) {
    const auto next = std::lower_bound(kernels.begin(), kernels.end(), gap.end,
                                       [](const Interval& kernel, Nanoseconds end) { return kernel.start < end; });
    if (next == kernels.begin() || next == kernels.end()) continue;
    if (next->start == gap.end && std::prev(next)->end == gap.start) sum += gap.end - gap.start;
  }
  return sum;
}

void append_host_syncs(const StepActivity& seen, std::vector<Cell>& row) {
  row.push_back(whole(static_cast<Nanoseconds>(seen.host_syncs.size())));
  row.push_back(whole(std::count_if(seen.host_syncs.begin(), seen.host_syncs.end(),
                                    [](const Event* event) { return event->has(kFlagInHook); })));
}

void append_lifecycle(const StepActivity& seen, std::vector<Cell>& row) {
  Nanoseconds first = 0;
  std::int64_t bytes = 0, late_bytes = 0;
  for (const Event* event : seen.collectives) {
    if (seen.backward_start == 0 || event->start < seen.backward_start) continue;
    if (first == 0 || event->start < first) first = event->start;
    bytes += event->bytes;
    if (seen.compute_end > 0 && event->start >= seen.compute_end) late_bytes += event->bytes;
  }
  row.push_back(whole(first > 0 ? first - seen.backward_start : -1));
  row.push_back(whole(bytes));
  row.push_back(whole(late_bytes));
}

struct KnownSplit {
  Nanoseconds peer_wait = 0, startup = 0, transfer = 0;
  bool any = false, any_complete = false, any_startup = false;
};

// On a device the stretches come by their start, and where two overlap the earlier one has what both cover: each then
// takes what lies between the end of all before it and its own.
template <class StartupOf>
KnownSplit split_known(const IntervalSet& comm, const std::vector<Blocked>& blocked, const StartupOf& startup_of) {
  KnownSplit split;
  Nanoseconds taken = 0;
  auto piece = comm.intervals().begin();
  const auto last = comm.intervals().end();
  for (const Blocked& one : blocked) {
    const Interval mine{std::max(one.interval.start, taken), one.interval.end};
    taken = std::max(taken, mine.end);
    while (piece != last && piece->end <= mine.start) ++piece;
    if (one.peers_ready == 0) continue;
    const Nanoseconds whole_startup = one.complete ? startup_of(one.collective) : 0;
    split.any_startup |= whole_startup > 0;
    for (auto next = piece; next != last && next->start < mine.end; ++next) {
      const Nanoseconds start = std::max(next->start, mine.start), end = std::min(next->end, mine.end);
      if (end <= start) continue;
      const Nanoseconds waited = std::clamp(one.peers_ready, start, end) - start;
      split.any = true;
      split.peer_wait += waited;
      if (!one.complete) continue;
      split.any_complete = true;
      const Nanoseconds startup = startup_within(start, end, one.peers_ready, whole_startup);
      split.startup += startup;
      split.transfer += end - start - waited - startup;
    }
  }
  return split;
}

}  // namespace

StepRows::StepRows(const RankTimeline& rank, const Inputs& inputs, Summary& summary)
    : rank_(rank),
      inputs_(inputs),
      steps_(summary.table(kStepTable, step_columns())),
      blocked_(summary.table(kBlockedTable, {"rank", "step", "key", "start_ns", "end_ns", "startup_ns"})),
      arrivals_(summary.table(kArrivalTable, {"rank", "key", "time_ns"})),
      splits_(summary.table(kSplitTable, {"rank", "step", "peer_wait_ns", "transfer_ns", "startup_ns"})) {}

void StepRows::add(const StepSpan& step, const StepActivity& seen, const Activity& claimed) {
  std::vector<Cell> row{whole(rank_.rank),   whole(step.number), whole(step.variant),         whole(step.deep),
                        whole(step.warm_up), whole(step.start),  whole(step.end - step.start)};
  for (const IntervalSet& set : claimed.of) row.push_back(whole(set.length()));
  for (const IntervalSet* set : {&seen.forward, &seen.backward, &seen.optimizer, &seen.gradient})
    row.push_back(whole(set->length()));
  append_communication(seen, claimed, row);
  append_compression(seen, step, row);
  append_host_syncs(seen, row);
  append_lifecycle(seen, row);
  row.push_back(whole(gaps_in_compression(seen, claimed)));
  row.push_back(whole(seen.kernels_have_phases ? kDevicePhases : seen.on_device));
  steps_.rows.push_back(std::move(row));
  if (!step.warm_up) add_blocked(step, seen, claimed[StepClass::comm]);
}

void StepRows::add_blocked(const StepSpan& step, const StepActivity& seen, const IntervalSet& comm) {
  if (seen.on_device) {
    const KnownSplit split = split_known(
        comm, seen.blocked, [this](const Event* collective) { return startup_ns(inputs_, rank_, collective); });
    if (split.any)
      splits_.rows.push_back({whole(rank_.rank), whole(step.number), whole(split.peer_wait),
                              whole(split.any_complete ? split.transfer : -1),
                              whole(split.any_startup ? split.startup : -1)});
    return;
  }
  IntervalSet left = comm;
  for (const Blocked& blocked : seen.blocked) {
    const IntervalSet mine = clip(left, blocked.interval);
    left = subtract(left, mine);
    if (blocked.key == 0) continue;  // no rank will tell when it was ready
    for (const Interval& piece : mine.intervals())
      blocked_.rows.push_back({whole(rank_.rank), whole(step.number), blocked.key, whole(piece.start), whole(piece.end),
                               whole(startup_ns(inputs_, rank_, blocked.collective))});
    if (blocked.arrival != 0) arrivals_.rows.push_back({whole(rank_.rank), blocked.key, whole(blocked.arrival)});
  }
}

}  // namespace gradsync
