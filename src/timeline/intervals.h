// Sets of half-open intervals [start, end) on one clock: sorted, disjoint, not empty. The algebra that
// attribution and overlap are written in.
#pragma once

#include <vector>

#include "src/model/event.h"

namespace gradsync {

struct Interval {
  Nanoseconds start = 0;
  Nanoseconds end = 0;
  bool operator==(const Interval&) const = default;
};

class IntervalSet {
 public:
  IntervalSet() = default;
  // Any intervals: empty ones are dropped, overlapping and touching ones joined.
  explicit IntervalSet(std::vector<Interval> intervals);

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  Nanoseconds length() const;
  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

IntervalSet unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
IntervalSet clip(const IntervalSet& set, Interval window);
// Length of the part of `window` that the set covers.
Nanoseconds covered(const IntervalSet& set, Interval window);

}  // namespace gradsync
