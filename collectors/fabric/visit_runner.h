// VisitRunner: one visit of a sweep as one rank runs it, in step with the others. Every rank sees the same words before
// every call and so decides alike: when to begin, whether it is warm, whether to stop. Not to be used after an error.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "collectors/fabric/call_word.h"
#include "collectors/fabric/tcp_store.h"

namespace gradsync {

struct VisitOutcome {
  std::vector<SweepSample> samples;  // `repeat` is left at 0: the leader counts
  bool stopped = false;
};

struct RunnerSettings {
  std::int64_t timeout_ms = 60'000;
  bool rank0_clock = true;           // false: this rank's clock is not that of rank 0, and is compared at every visit
  std::function<bool()> stop_asked;  // by this rank
};

class VisitRunner {
 public:
  VisitRunner(FabricBackend& backend, TcpStore& store, RunnerSettings settings)
      : backend_(backend), store_(store), settings_(std::move(settings)) {}

  Result<VisitOutcome> run(const SweepVisit& visit);

  // The next round of words; `limit_ms` how long to wait for the others.
  Result<std::vector<std::string>> exchange(const std::string& mine, std::int64_t limit_ms);
  // What is to be said of an error of this rank: another rank's trouble when that was the cause, else its own, which
  // the others are told.
  Error explain(const Error& own);

  std::int64_t worst_clock_uncertainty_ns() const { return uncertainty_ns_; }

 private:
  using CallKey = std::tuple<int, int, std::int64_t, bool>;

  Result<std::vector<CallWord>> tell(CallWord mine);
  Result<void> compare_clocks();
  Result<CallWord> call_at(std::int64_t start_ns);
  Result<double> wrong_of_all();

  FabricBackend& backend_;
  TcpStore& store_;
  RunnerSettings settings_;
  std::int64_t offset_ns_ = 0, uncertainty_ns_ = 0, round_ = 0;
  StartMargin margin_;
  std::map<CallKey, double> warm_us_;
};

}  // namespace gradsync
