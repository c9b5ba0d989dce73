// Somebody in this library who wants to know when a training step begins: the collector that watches some of them.
#pragma once

#include <stdint.h>

namespace gradsync::spool {

inline constexpr uint32_t kStepDeep = 1;      // the step is (partly) inside a window
inline constexpr uint32_t kStepCounters = 2;  // hardware counters are read in it: it is left out of every timing

// Called by the thread that opens step `step`, before its record is written; bits of the above.
using StepListener = uint32_t (*)(uint32_t step);
extern StepListener g_step_listener;  // null = nobody

}  // namespace gradsync::spool
