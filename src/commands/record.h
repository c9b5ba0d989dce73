// Recorder: the collectors of one run, from their start before exec to what they hand over at the end. A collector that
// cannot start, or whose variables would kill the job at exec, is left out and becomes coverage.
#pragma once

#include <memory>
#include <vector>

#include "src/model/collector.h"

namespace gradsync {

class Recorder {
 public:
  Recorder(CollectorContext context, std::vector<std::unique_ptr<Collector>> collectors);

  // The environment that the job is to get, from the one it would have had.
  Environment start(const Environment& without);

  // After the job ended; once. Hands over series, facts and coverage, and writes the doctor's own events.
  RecordingParts finish();

 private:
  Result<void> start_one(Collector& collector, Environment& environment) const;

  CollectorContext context_;
  std::vector<std::unique_ptr<Collector>> collectors_;  // after start: those that run
  std::vector<Coverage> coverage_;
};

}  // namespace gradsync
