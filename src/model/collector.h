// Collector: something that measures while the job runs. It can write events and series; it cannot analyse.
// Called by `run` and `check` only, from the main thread, in this order: probe, start, (job runs), stop.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/event_sink.h"
#include "src/model/report.h"

namespace gradsync {

struct CollectorContext {
  std::filesystem::path recording;   // absolute
  std::filesystem::path library;     // libgradsync_inject.so, absolute
  std::filesystem::path torch_shim;  // folder with sitecustomize.py, absolute
  std::filesystem::path root = "/";  // --root: below it /proc and /sys
  std::vector<std::string> command_line;
  std::map<std::string, std::string> options;  // deep, steps, budget, quality
};

// Environment of the job, name → value; a collector adds to what it finds there.
using Environment = std::map<std::string, std::string>;

struct RecordingParts {
  SeriesSet series;
  Facts facts;
  std::vector<Coverage> coverage;
};

class Collector {
 public:
  virtual ~Collector() = default;
  virtual std::string name() const = 0;
  // What this collector could see here and, when it cannot, why and what would enable it. No side effects.
  virtual std::vector<Coverage> probe(const CollectorContext& context) const = 0;
  // Before exec. A failure is a coverage entry, never the end of the run.
  virtual Result<void> start(const CollectorContext& context, Environment& environment) = 0;
  // After the job ended: hand over what was collected. `events` receives the doctor's own events, if any.
  virtual void stop(const CollectorContext& context, EventSink& events, RecordingParts& parts) = 0;
};

}  // namespace gradsync
