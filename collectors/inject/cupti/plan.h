// In which steps the device is watched, and which calls of the host then. Pure; all ranks count the same steps, so they
// agree without talking.
#pragma once

#include <stdint.h>

namespace gradsync::cupti {

enum class Watch : uint8_t {
  never,
  windows,  // 10 steps from step 10, 100 and 1000 on: after the warm-up, and when what begins late has begun
  range,    // the steps that the user named
  always,
};

struct Plan {
  Watch watch;
  uint32_t first, last;  // of a range: first <= step < last
};

// The calls that are recorded besides what the device did. Each costs the thread that calls.
enum class Calls : uint8_t {
  known,  // launches and waits: what a report needs
  none,
  all,  // of the runtime and the driver
};

constexpr uint32_t kWindowSteps = 10;

// "windows", "all", "A:B"; anything else is never.
Plan parse_plan(const char* text);

// "none", "all"; anything else is known.
Calls parse_calls(const char* text);

bool watches(const Plan& plan, uint32_t step);

// Where counters are asked for: the steps in which some are read, after the first window and what it holds back.
constexpr uint32_t kCountedFrom = 25, kCountedSteps = 3;

constexpr bool counts(uint32_t step) { return step >= kCountedFrom && step < kCountedFrom + kCountedSteps; }
// In these NCCL's calls are watched: one step more, so that it is known whether they can be seen at all.
constexpr bool guards(uint32_t step) { return counts(step) || step + 1 == kCountedFrom; }

}  // namespace gradsync::cupti
