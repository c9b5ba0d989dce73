// SweepSession: the ranks of one sweep. Every rank has one; rank 0 leads, the others follow what it says.
//
//   rank 0      measure(visits) → samples … measure(more) … end()
//   others      follow()          returns when the leader has ended, or is gone
//
// A visit is one size of one operation: warm-up until stable, then `repeats` timed calls. The leader chooses the order
// (random, interleaved) and how often: more repeats may be asked for where the answer is not clear yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectors/fabric/backend.h"
#include "src/base/result.h"
#include "src/model/collector.h"
#include "src/model/series.h"

namespace gradsync {

// Something that keeps the machine busy beside the sweep, in every rank.
class BackgroundLoad {
 public:
  virtual ~BackgroundLoad() = default;
  virtual std::string name() const = 0;
  virtual Result<void> start() = 0;
  virtual void stop() = 0;
};

struct SweepVisit {
  FabricCall call;
  int repeats = 1;
  bool loaded = false;  // with the background load running
};

// One timed call, over all ranks.
struct SweepSample {
  FabricCall call;
  int repeat = 0;       // counts per call and load, from 0
  double us = 0;        // the longest of the ranks' own times
  double skew_us = 0;   // how much later than the first the last rank began, where clocks allow to tell
  double graph_us = 0;  // NaN: not measured
  double wrong = 0;     // elements over all ranks; NaN: not checked in this call
  bool loaded = false;
};

struct SweepMeasured {
  std::vector<SweepSample> samples;
  bool interrupted = false;  // by the user or the limit: what was measured is here
};

class SweepSession {
 public:
  virtual ~SweepSession() = default;
  virtual const FabricPlace& place() const = 0;
  virtual Facts facts() const = 0;
  virtual bool can(FabricOperation operation, ElementType type) const = 0;  // this rank's backend
  virtual Result<SweepMeasured> measure(const std::vector<SweepVisit>& visits) = 0;
  virtual Result<void> follow() = 0;
  virtual void end() = 0;
};

// How ranks find each other: from the launcher's variables, or as forks of one command.
struct SweepStart {
  std::string backend = "auto";  // auto, nccl, gloo
  std::string plugins;           // folder with libgradsync_gloo.so
  int ranks = 0;                 // to fork here; 0: take the place from the environment
  std::string interface_name;
  std::string options;  // what all ranks must ask for alike, in words: a rank that asks otherwise is refused
  std::int64_t timeout_ms = 60'000;
  std::int64_t limit_ms = 0;                // of one measure(), which then ends as with Ctrl-C; 0: none
  const std::atomic<bool>* stop = nullptr;  // set by the handler of Ctrl-C
  BackgroundLoad* load = nullptr;
  // Called once in every rank before it connects, when the ranks have met and agreed on NCCL.
  std::function<void(const FabricPlace& place, RankStore& store)> before_nccl{};
};

// Forks, meets, connects. In every rank process it returns that rank's session. Errors name the rank that is missing,
// the port that is taken, the version that differs, and what would help.
Result<std::unique_ptr<SweepSession>> start_sweep(const SweepStart& start);

// Samples as the series sweep_samples.<op> (docs/metrics.md), appended. `load` names what ran beside loaded calls.
void add_samples(const std::vector<SweepSample>& samples, SeriesSet& series, const std::string& load = "load");

}  // namespace gradsync
