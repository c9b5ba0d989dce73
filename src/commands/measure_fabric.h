// The loop of a sweep's leader: rounds over all sizes in random order, so that what drifts hits all of them alike, then
// more rounds over those whose answer is not clear, until all are or the time is up. It knows ranks by their session.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "collectors/fabric/sweep_session.h"
#include "src/commands/sweep_task.h"

namespace gradsync {

// Calls that want more repeats before something can be said of them.
using UndecidedCalls = std::function<std::vector<FabricCall>(const SeriesSet& samples)>;
// Time since some moment. Tests have a clock of their own.
using SweepClock = std::function<std::chrono::milliseconds()>;

struct SweepProgress {
  int round = 0, rounds = 0;  // rounds: of all sizes; 0: those that are not decided
  std::chrono::milliseconds passed{};
};

struct SweptFabric {
  SeriesSet series;  // sweep_samples.<op>
  std::vector<Coverage> coverage;
  bool interrupted = false;
  std::optional<Error> broken;  // the session failed after something had been measured
  double seconds = 0;
};

struct SweepLoop {
  UndecidedCalls undecided;
  SweepClock clock;
  std::function<void(const SweepProgress&)> progress;
};

// Error: nothing could be measured. Ends the session in any case.
Result<SweptFabric> measure_fabric(SweepSession& session, const SweepTask& task, const SweepLoop& loop);

}  // namespace gradsync
