// One step of one rank, sorted into sets of intervals: what was computed, compressed, waited for, and when.
//
// Jobs without a GPU are judged by the training thread's wall time (compute = forward, backward and optimiser work on
// it); where device kernels were recorded in the step, by the device's. What the hook cannot see is inferred and only
// where it is unambiguous:
//
//   step boundary (end of the last optimiser step)                                    next boundary
//   │ data │ … │ forward ────────────▶ backward ──▶│compute_end  tail │ gradient code │ optimizer │
//   │      │   │ from the wrapped model's forward, │ engine works     │ waits for the │ the user's own, with the
//   │      │   │ or the end of data, to backward   │                  │ framework     │ collectives in it
#pragma once

#include <cstdint>
#include <vector>

#include "analyzers/classes.h"
#include "analyzers/gradient_path.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {

// A stretch in which the training thread was blocked on communication.
struct Blocked {
  Interval interval;
  std::int64_t key = 0;     // the same on every rank for the same collective; 0 = unknown
  Nanoseconds arrival = 0;  // when this rank was ready for it
  // Where the ranks were joined before: when the last peer was ready, and whether every peer is known. 0 = not known.
  Nanoseconds peers_ready = 0;
  bool complete = false;
  const Event* collective = nullptr;  // what it waits for, where that is one
};

struct StepActivity {
  Activity activity;
  IntervalSet forward, backward, optimizer, gradient;  // parts of useful compute
  IntervalSet communicating;                           // issue … completion of gradient collectives
  std::vector<Blocked> blocked;
  std::vector<const Event*> collectives;  // gradient collectives that began in this step
  std::vector<const Event*> host_syncs;
  Nanoseconds backward_start = 0;    // first backward; 0 = none
  Nanoseconds compute_end = 0;       // last gradient computed; 0 = not known
  bool on_device = false;            // judged by the device's time
  bool kernels_have_phases = false;  // ranges that launched them are there: else compression is part of compute
};

StepActivity observe(const RankTimeline& rank, const StepSpan& step, const GradientPath& path);

}  // namespace gradsync
