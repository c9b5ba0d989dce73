#include "analyzers/classes.h"

namespace gradsync {
namespace {

constexpr std::array<std::string_view, kStepClasses> kNames{"compute",   "compress", "decompress", "comm", "memcpy",
                                                            "host_sync", "launch",   "sched_irq",  "data", "idle"};

}  // namespace

std::string_view class_name(StepClass step_class) { return kNames[static_cast<std::size_t>(step_class)]; }

Activity claim(const Activity& activity, Interval step) {
  Activity claimed;
  IntervalSet unclaimed({step});
  for (std::size_t i = 0; i + 1 < kStepClasses; ++i) {
    if (activity.of[i].empty()) continue;
    claimed.of[i] = intersect(activity.of[i], unclaimed);
    unclaimed = subtract(unclaimed, claimed.of[i]);
  }
  claimed[StepClass::idle] = unclaimed;
  return claimed;
}

}  // namespace gradsync
