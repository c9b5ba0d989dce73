// One clock for ranks of several hosts or files, from the moments that they share: an all-reduce, an all-gather or a
// barrier ends on all its ranks together, because nobody has the result before everybody gave his part.
//
//   x = end here − end there          ·      ·   woken late here
//                              · ··  · ··· ··  ·  ·         the narrowest band that holds a third of the points:
//                        ─·─··──·─··──·─·──·──··─·──        offset + drift · t, drift as far as crystals go, 200 ppm
//                          ·    ·            ·   woken late there
//
// Both ends can be seen late (a thread that was not woken at once), so neither the upper nor the lower edge of the
// points is the truth: it lies where they are dense. The residual is what the line leaves, 90 % of the ends are within.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/timeline/match_collectives.h"

namespace gradsync {

inline constexpr std::size_t kFewestSharedEnds = 20;

// A point of a fit: an end on the clock that is placed, and how far it is behind the same end on those already placed.
struct EndPair {
  Nanoseconds time = 0;
  Nanoseconds behind = 0;
};

struct ClockLine {
  Nanoseconds origin = 0;  // of the drift
  Nanoseconds offset = 0;  // at the origin; may be years, so it is no double
  double drift = 0;        // nanoseconds per nanosecond
  double residual_us = 0;  // p90 of what the line leaves
  Nanoseconds map(Nanoseconds time) const;
};

// In order of time, kFewestSharedEnds or more. Nothing where they lie along a line that no clock runs.
std::optional<ClockLine> fit_clock(const std::vector<EndPair>& pairs);

enum class ClockState { shared, aligned, apart };  // one from the start; made one here; not comparable

struct ClockAlignment {
  ClockState state = ClockState::shared;
  std::string text;  // for RunInfo.clocks: "aligned by the ends of 240 all-reduces, residual p90 12 us"
  std::string why;   // of `apart`
  std::map<std::string, ClockLine> lines;  // of `aligned`: by RankTimeline::clock, for stamps that are not in timelines
};

// Moves every stamp of the ranks, and of the matched collectives, onto the clock that has most shared ends. Nothing is
// moved unless all can be. Ranks of one clock (RankTimeline::clock) move together.
ClockAlignment align_clocks(std::vector<RankTimeline>& ranks, CollectiveMatching& matching);

}  // namespace gradsync
