// Somebody in this library who wants to know when a training step begins: the collector that watches some of them.
#pragma once

#include <stdint.h>

namespace gradsync::spool {

// Called by the thread that opens step `step`, before its record is written; 1 = the step is (partly) inside a window.
using StepListener = uint32_t (*)(uint32_t step);
extern StepListener g_step_listener;  // null = nobody

}  // namespace gradsync::spool
