#include "src/commands/measure_fabric.h"

#include <algorithm>

#include "collectors/fabric/sweep_plan.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

constexpr int kMoreRounds = 3;   // over what is not decided, before asking again
constexpr int kHalvesEvery = 3;  // rounds: a line needs fewer repeats than an answer about cliffs
// Where the time is too short for all rounds, the last part of it is for the calls that take little.
constexpr int kReservedShare = 10;
// The time is looked at between. A load is started and stopped around them, which is not worth it for one visit.
constexpr std::size_t kVisitsAtOnce = 1, kLoadedVisitsAtOnce = 8;

class Leader {
 public:
  Leader(SweepSession& session, const SweepTask& task, const SweepLoop& loop)
      : session_(session), task_(task), loop_(loop), began_(loop.clock()) {}

  Result<SweptFabric> lead() {
    const Result<std::vector<FabricCall>> planned = possible_calls();
    if (!planned) return planned.error();
    const std::vector<FabricCall>& calls = *planned;
    Result<std::vector<FabricCall>> as_halves = half_calls();
    if (!as_halves) return as_halves.error();
    halves_ = std::move(*as_halves);
    if (calls.empty())
      return Error{"nothing to sweep with", session_.facts()["backend"],
                   std::string("it has none of these operations for ") + to_string(task_.type), "--type float", 3};
    int rounds = 0;
    until_ms_ = task_.max_ms - task_.max_ms / kReservedShare;
    while (rounds < task_.repeats && go_on()) {
      tell_progress(rounds + 1, task_.repeats);
      if (round(calls, halves_in(rounds))) ++rounds;
    }
    until_ms_ = task_.max_ms;
    complete_what_takes_little(calls);
    decide(rounds);
    if (samples_.empty()) return nothing();
    note_repeats(rounds);
    add_samples(samples_, swept_.series, task_.load);
    swept_.seconds = static_cast<double>(passed().count()) * 1e-3;
    return std::move(swept_);
  }

 private:
  std::chrono::milliseconds passed() const { return loop_.clock() - began_; }
  bool go_on() const { return !swept_.interrupted && !swept_.broken && passed().count() < until_ms_; }

  void tell_progress(int round, int rounds) const {
    if (loop_.progress) loop_.progress({round, rounds, passed()});
  }

  // Where floats need more repeats to tell anything, halves do, too.
  std::vector<FabricCall> halves_in(int round) const {
    return round % kHalvesEvery == 0 ? halves_ : std::vector<FabricCall>();
  }

  SweepRequest request_of(ElementType type, const std::vector<std::int64_t>& sizes) const {
    SweepRequest request;
    request.operations.clear();
    request.type = type;
    request.ranks = session_.place().ranks;
    request.min_bytes = request.max_bytes = sizes.front();
    request.extra_bytes = sizes;
    return request;
  }

  Result<std::vector<FabricCall>> half_calls() const {
    if (task_.half_sizes.empty() || !session_.can(FabricOperation::all_reduce, ElementType::float16))
      return std::vector<FabricCall>();
    SweepRequest request = request_of(ElementType::float16, task_.half_sizes);
    request.operations = {FabricOperation::all_reduce};
    return plan_calls(request);
  }

  Result<std::vector<FabricCall>> possible_calls() {
    SweepRequest request = request_of(task_.type, task_.sizes);
    for (const FabricOperation operation : task_.operations)
      if (session_.can(operation, task_.type))
        request.operations.push_back(operation);
      else
        swept_.coverage.push_back({std::string("sweep of ") + to_string(operation), "", CoverageState::unavailable,
                                   "this backend has no such operation for " + std::string(to_string(task_.type)), "",
                                   0});
    return plan_calls(request);
  }

  // One repeat of each, idle and beside the load; of `idle_only` idle alone. Whether all were made.
  bool round(const std::vector<FabricCall>& calls, const std::vector<FabricCall>& idle_only = {}) {
    ++round_;
    for (const bool loaded : {false, true}) {
      if (loaded && task_.load.empty()) break;
      std::vector<FabricCall> all = calls;
      if (!loaded) all.insert(all.end(), idle_only.begin(), idle_only.end());
      const std::vector<SweepVisit> visits = plan_visits(all, {1, 1, loaded, task_.seed + round_});
      const std::size_t at_once = loaded ? kLoadedVisitsAtOnce : kVisitsAtOnce;
      for (std::size_t at = 0; at < visits.size(); at += at_once) {
        if (!go_on()) return false;
        const auto first = visits.begin() + static_cast<std::ptrdiff_t>(at);
        visit({first, first + static_cast<std::ptrdiff_t>(std::min(at_once, visits.size() - at))});
      }
    }
    return go_on() || passed().count() >= until_ms_;
  }

  void visit(const std::vector<SweepVisit>& visits) {
    Result<SweepMeasured> measured = session_.measure(visits);
    if (!measured) {
      swept_.broken = measured.error();
      return;
    }
    samples_.insert(samples_.end(), measured->samples.begin(), measured->samples.end());
    swept_.interrupted = measured->interrupted && passed().count() < task_.max_ms;  // else its own limit ended it
  }

  // Of small messages, which tell the start-up.
  void complete_what_takes_little(const std::vector<FabricCall>& calls) {
    const auto left_us = [this] { return 1e3 * static_cast<double>(task_.max_ms - passed().count()); };
    std::vector<FabricCall> cheap = calls_that_fit(calls, samples_, task_.repeats, left_us());
    while (!cheap.empty() && go_on()) {
      round(cheap);
      cheap = calls_that_fit(cheap, samples_, task_.repeats, left_us());
    }
  }

  void decide(int rounds) {
    if (rounds < task_.repeats || !loop_.undecided) return;
    while (go_on()) {
      SeriesSet so_far;
      add_samples(samples_, so_far, task_.load);
      const std::vector<FabricCall> calls = loop_.undecided(so_far);
      if (calls.empty()) return;
      for (int more = 0; more < kMoreRounds && go_on(); ++more) {
        tell_progress(++rounds, 0);
        round(calls, halves_in(rounds));
      }
    }
  }

  Error nothing() const {
    if (swept_.broken) return *swept_.broken;
    if (swept_.interrupted) return {"stopped before anything was measured", "", "", "", 130};
    return {"nothing was measured within", format_seconds(static_cast<double>(task_.max_ms) * 1e-3), "",
            "a longer --max-time", 3};
  }

  void note_repeats(int rounds) {
    if (rounds >= task_.repeats) return;
    const std::string why = swept_.interrupted ? "it was stopped"
                            : swept_.broken    ? swept_.broken->message()
                                               : "the time of --max-time was up";
    swept_.coverage.push_back({"repeats of the sweep", "", CoverageState::partial,
                               std::to_string(rounds) + " of " + std::to_string(task_.repeats) +
                                   " rounds over all sizes are complete: " + why,
                               swept_.interrupted || swept_.broken ? "" : "--max-time 5min, or a smaller --max", 0});
  }

  SweepSession& session_;
  const SweepTask& task_;
  const SweepLoop& loop_;
  std::chrono::milliseconds began_;
  std::int64_t until_ms_ = 0;
  std::uint64_t round_ = 0;
  std::vector<FabricCall> halves_;
  std::vector<SweepSample> samples_;
  SweptFabric swept_;
};

}  // namespace

Result<SweptFabric> measure_fabric(SweepSession& session, const SweepTask& task, const SweepLoop& loop) {
  Result<SweptFabric> swept = Leader(session, task, loop).lead();
  session.end();
  return swept;
}

}  // namespace gradsync
