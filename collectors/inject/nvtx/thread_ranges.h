// What NVTX needs to remember per thread: the ranges pushed and not yet popped, the names seen last, and the lane. A
// callback looks itself up once and hands it on: every look at a thread-local of a loaded library is a call.
#pragma once

#include <stdint.h>

#include "collectors/inject/recent_names.h"
#include "src/spool_writer/lane.h"

namespace gradsync::nvtx {

class ThreadRanges {
 public:
  spool::Lane& lane() {
    if (lane_ == nullptr) lane_ = &spool::t_lane;
    return *lane_;
  }

  // The range's level, counted over all domains. Too deep a range is counted, so that its pop finds nothing to end.
  int push(uint64_t event, uint32_t domain) {
    if (depth_ < kMaxDepth) {
      ranges_[depth_] = {event, domain};
    } else {
      ++beyond_;
    }
    return static_cast<int>(depth_ < kMaxDepth ? depth_++ : depth_ + beyond_ - 1);
  }

  struct Popped {
    uint64_t event;  // 0 = it was not kept
    int level;       // negative: nothing was pushed
  };

  // Domains have stacks of their own; they interleave rarely, so one array serves them all.
  Popped pop(uint32_t domain) {
    if (beyond_ > 0) {
      --beyond_;
      return {0, static_cast<int>(depth_ + beyond_)};
    }
    for (uint32_t i = depth_; i-- > 0;) {
      if (ranges_[i].domain != domain) continue;
      const uint64_t event = ranges_[i].event;
      --depth_;
      for (uint32_t j = i; j < depth_; ++j) ranges_[j] = ranges_[j + 1];
      return {event, static_cast<int>(depth_)};
    }
    return {0, -1};
  }

  uint32_t name_of(const char* text) { return names_.id_of(text); }

 private:
  static constexpr uint32_t kMaxDepth = 128;
  struct Range {
    uint64_t event;
    uint32_t domain;
  };
  spool::Lane* lane_;
  uint32_t depth_;
  uint32_t beyond_;
  Range ranges_[kMaxDepth];
  RecentNames names_;
};

// Zero for a new thread; a forked child keeps it, its references are of another epoch and end nothing there.
extern __thread ThreadRanges t_ranges __attribute__((visibility("hidden")));

}  // namespace gradsync::nvtx
