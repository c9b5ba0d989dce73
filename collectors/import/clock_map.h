// From a profile's own clock to CLOCK_MONOTONIC, by two moments that both clocks saw: the marker ranges
// gsd_clock_open and gsd_clock_close. The stamps are read inside the ranges, so a range's middle stands for them.
//
//   profile     ├──open──┤          t           ├──close──┤
//                    │ + a          │                │ + b        t' = t + a + (b − a) · (t − open) / (close − open)
//   monotonic        o              t'               c            residual = |b − a|
#pragma once

#include <cstdlib>

#include "src/model/event.h"

namespace gradsync {

// One moment each, on one clock.
struct ClockStamps {
  Nanoseconds open = 0;
  Nanoseconds close = 0;
};

class ClockMap {
 public:
  ClockMap() = default;  // leaves every stamp as it is
  ClockMap(ClockStamps profile, ClockStamps monotonic);

  Nanoseconds map(Nanoseconds profile_time) const;
  // How much the two clocks disagree about the time between the moments: drift, and the error of reading both.
  Nanoseconds residual() const { return std::abs(drift_); }

 private:
  ClockStamps profile_;
  Nanoseconds offset_ = 0;  // at open
  Nanoseconds drift_ = 0;   // from open to close
};

}  // namespace gradsync
