#include "collectors/fabric/visit_runner.h"

#include <algorithm>
#include <ctime>

namespace gradsync {
namespace {

constexpr std::int64_t kTroubleMs = 1000;  // for the end of another rank to become known
constexpr std::int64_t kSpinNs = 200'000;

// Sleeping is not punctual enough, so the last part is spent looking at the clock.
void wait_until(std::int64_t when_ns) {
  const std::int64_t left = when_ns - monotonic_ns() - kSpinNs;
  if (left > 0) {
    const std::timespec pause{left / 1'000'000'000, left % 1'000'000'000};
    ::nanosleep(&pause, nullptr);
  }
  while (monotonic_ns() < when_ns) {
  }
}

Error not_understood() {
  return Error{"cannot understand", "another rank", "its words are not those of a sweep", "", 3};
}

double microseconds(const FabricTiming& timing) {
  return timing.device_us ? *timing.device_us : static_cast<double>(timing.end_ns - timing.begin_ns) / 1000;
}

}  // namespace

Result<std::vector<std::string>> VisitRunner::exchange(const std::string& mine, std::int64_t limit_ms) {
  return store_.exchange("round " + std::to_string(round_++), mine, limit_ms);
}

Error VisitRunner::explain(const Error& own) {
  if (const std::optional<Error> other = store_.trouble(kTroubleMs)) return *other;
  store_.fail(own.message());
  return own;
}

Result<std::vector<CallWord>> VisitRunner::tell(CallWord mine) {
  mine.ready_ns = monotonic_ns() + offset_ns_;
  mine.stop = settings_.stop_asked && settings_.stop_asked();
  const Result<std::vector<std::string>> texts = exchange(encode(mine), settings_.timeout_ms);
  if (!texts) return texts.error();
  std::vector<CallWord> words;
  for (const std::string& text : *texts) {
    const std::optional<CallWord> word = decode_call(text);
    if (!word) return explain(not_understood());
    words.push_back(*word);
  }
  return words;
}

Result<void> VisitRunner::compare_clocks() {
  if (settings_.rank0_clock) return {};
  const Result<ClockOffset> offset = store_.clock_offset();
  if (!offset) return offset.error();
  offset_ns_ = offset->offset_ns;
  uncertainty_ns_ = std::max(uncertainty_ns_, offset->uncertainty_ns);
  return {};
}

Result<CallWord> VisitRunner::call_at(std::int64_t start_ns) {
  const std::int64_t own_start = start_ns - offset_ns_;
  CallWord word;
  word.slack_ns = own_start - monotonic_ns();
  wait_until(own_start);
  const Result<FabricTiming> timing = backend_.run();
  if (!timing) return explain(timing.error());
  word.begin_ns = timing->begin_ns + offset_ns_;
  word.us = microseconds(*timing);
  if (timing->graph_us) word.graph_us = *timing->graph_us;
  return word;
}

Result<double> VisitRunner::wrong_of_all() {
  const Result<std::int64_t> mine = backend_.count_wrong();
  if (!mine) return explain(mine.error());
  const Result<std::vector<std::string>> texts = exchange(std::to_string(*mine), settings_.timeout_ms);
  if (!texts) return texts.error();
  double wrong = 0;
  for (const std::string& text : *texts) {
    const auto count = whole_number(text);
    if (!count) return explain(not_understood());
    wrong += static_cast<double>(*count);
  }
  return wrong;
}

Result<VisitOutcome> VisitRunner::run(const SweepVisit& visit) {
  const Result<void> prepared = backend_.prepare(visit.call);
  if (!prepared) return explain(prepared.error());
  const Result<void> compared = compare_clocks();
  if (!compared) return compared.error();

  const CallKey key{static_cast<int>(visit.call.operation), static_cast<int>(visit.call.type), visit.call.elements,
                    visit.loaded};
  const auto known = warm_us_.find(key);
  WarmUp warm(known == warm_us_.end() ? std::nullopt : std::optional(known->second));
  VisitOutcome outcome;
  CallWord mine;
  int timed = 0;
  bool last_was_timed = false;
  for (;;) {
    const Result<std::vector<CallWord>> words = tell(mine);
    if (!words) return words.error();
    if (words->front().has_call()) {
      SweepSample sample = joined(*words);
      sample.call = visit.call;
      sample.loaded = visit.loaded;
      if (last_was_timed)
        outcome.samples.push_back(sample);
      else
        warm.add(sample.us);
    }
    outcome.stopped = std::any_of(words->begin(), words->end(), [](const CallWord& word) { return word.stop; });
    if (outcome.stopped || timed == visit.repeats) break;
    if (timed == 0 && warm.done()) warm_us_.emplace(key, warm.median_us());
    last_was_timed = timed > 0 || warm.done();
    if (last_was_timed) ++timed;
    Result<CallWord> called = call_at(margin_.start_ns(*words));
    if (!called) return called.error();
    mine = *called;
  }
  if (outcome.stopped || outcome.samples.empty()) return outcome;
  const Result<double> wrong = wrong_of_all();
  if (!wrong) return wrong.error();
  outcome.samples.back().wrong = *wrong;
  return outcome;
}

}  // namespace gradsync
