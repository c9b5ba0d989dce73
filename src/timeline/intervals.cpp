#include "src/timeline/intervals.h"

#include <algorithm>

namespace gradsync {

IntervalSet::IntervalSet(std::vector<Interval> intervals) {
  const auto before = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), before))  // mostly they are: events come by start
    std::sort(intervals.begin(), intervals.end(), before);
  for (const Interval& next : intervals) {
    if (next.end <= next.start) continue;
    if (!intervals_.empty() && next.start <= intervals_.back().end)
      intervals_.back().end = std::max(intervals_.back().end, next.end);
    else
      intervals_.push_back(next);
  }
}

Nanoseconds IntervalSet::length() const {
  Nanoseconds total = 0;
  for (const Interval& interval : intervals_) total += interval.end - interval.start;
  return total;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> all(a.intervals().size() + b.intervals().size());
  std::merge(a.intervals().begin(), a.intervals().end(), b.intervals().begin(), b.intervals().end(), all.begin(),
             [](const Interval& x, const Interval& y) { return x.start < y.start; });
  return IntervalSet(std::move(all));
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> common;
  auto left = a.intervals().begin();
  auto right = b.intervals().begin();
  while (left != a.intervals().end() && right != b.intervals().end()) {
    const Interval both{std::max(left->start, right->start), std::min(left->end, right->end)};
    if (both.start < both.end) common.push_back(both);
    if (left->end < right->end)
      ++left;
    else
      ++right;
  }
  return IntervalSet(std::move(common));
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> rest;
  auto hole = b.intervals().begin();
  for (Interval piece : a.intervals()) {
    while (hole != b.intervals().end() && hole->end <= piece.start) ++hole;
    for (auto next = hole; next != b.intervals().end() && next->start < piece.end; ++next) {
      rest.push_back({piece.start, next->start});
      piece.start = std::max(piece.start, next->end);
    }
    rest.push_back(piece);
  }
  return IntervalSet(std::move(rest));
}

IntervalSet clip(const IntervalSet& set, Interval window) { return intersect(set, IntervalSet({window})); }

Nanoseconds covered(const IntervalSet& set, Interval window) {
  const auto& all = set.intervals();
  auto next =
      std::partition_point(all.begin(), all.end(), [&](const Interval& one) { return one.end <= window.start; });
  Nanoseconds total = 0;
  for (; next != all.end() && next->start < window.end; ++next)
    total += std::min(next->end, window.end) - std::max(next->start, window.start);
  return total;
}

}  // namespace gradsync
