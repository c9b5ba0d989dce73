// Counters of the calling thread and of the threads that it starts from then on, scheduled together. Where there are
// more events than counters the kernel takes turns: a value is scaled by the share of the time that it was counted, and
// refused below kLeastRunning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/host/pmu_events.h"
#include "src/base/file.h"
#include "src/model/report.h"

namespace gradsync {

// As read() tells them: the counter, and the time for which it was asked for and for which it counted.
struct PmuReading {
  std::uint64_t value = 0, enabled = 0, running = 0;
};

// What passed between two readings.
struct PmuCount {
  double value = 0;            // scaled to the whole time
  double running_percent = 0;  // of the time, that it was counted
};
inline constexpr double kLeastRunning = 10;  // percent: what was counted for less than a tenth of the time is a guess
std::optional<PmuCount> scaled(const PmuReading& before, const PmuReading& after);

class PmuGroup {
 public:
  // Events that cannot be opened are left out and told in refused(). Error: none can.
  static Result<PmuGroup> open(const std::vector<PmuEvent>& events);

  std::vector<PmuReading> read() const;  // by event
  const std::vector<PmuEvent>& events() const { return events_; }
  const std::vector<Error>& refused() const { return refused_; }

 private:
  std::vector<PmuEvent> events_;
  std::vector<FileDescriptor> fds_;
  std::vector<Error> refused_;
};

// Whether this machine counts in hardware, for this user; in one line why not, and what is counted instead.
Coverage pmu_coverage();

}  // namespace gradsync
