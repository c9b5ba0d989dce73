// Arrows of a trace: from rank to rank of one collective, and from a launch to what it launched.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "src/export/trace_text.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// An arrow goes through all members of a collective, in the order in which they arrived.
struct ArrowPoint {
  std::int64_t arrow = 0;
  char phase = 't';  // s: it begins here, t: it goes on, f: it ends
};

class CollectiveArrows {
 public:
  // Of joined ranks on one clock; numbers of arrows begin with 1.
  explicit CollectiveArrows(const std::vector<RankTimeline>& ranks);
  CollectiveArrows() = default;  // none
  std::optional<ArrowPoint> at(std::size_t rank, std::size_t event) const;
  std::int64_t arrows() const { return arrows_; }

 private:
  static std::uint64_t key(std::size_t rank, std::size_t event) { return rank << 32 | event; }
  std::int64_t arrows_ = 0;
  std::unordered_map<std::uint64_t, ArrowPoint> points_;
};

// Calls and kernels of one rank, in order of start. A call is kept until its first kernel comes; after so many newer ones
// it is given up.
class LaunchArrows {
 public:
  LaunchArrows(TraceText& text, std::int64_t& next_arrow) : text_(text), next_arrow_(next_arrow) {}
  void call(std::uint64_t correlation, Track track, Nanoseconds at);
  // Draws the arrow when the call is known.
  void work(std::uint64_t correlation, Track track, Nanoseconds at);
  std::int64_t drawn() const { return drawn_; }

 private:
  struct Call {
    Track track;
    Nanoseconds at = 0;
  };
  TraceText& text_;
  std::int64_t& next_arrow_;
  std::int64_t drawn_ = 0;
  std::unordered_map<std::uint64_t, Call> calls_, older_;  // two generations
};

void draw_arrow(TraceText& text, ArrowPoint point, Track track, Nanoseconds at, std::string_view what);

}  // namespace gradsync
