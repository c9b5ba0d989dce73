#include "src/commands/sched_watch.h"

#include <unistd.h>

#include "collectors/host/sched_parts.h"
#include "src/commands/irq_trace.h"

namespace gradsync {
namespace {

constexpr Nanoseconds kFirstLook = 300'000'000;

JobThreads::Ancestor itself(Watched subject) {
  return subject == Watched::command ? JobThreads::Ancestor::left_out : JobThreads::Ancestor::of_it;
}

std::int64_t ancestor_of(const WatchOptions& options) {
  return options.subject == Watched::command ? ::getpid() : options.subject == Watched::process ? options.pid : 0;
}

}  // namespace

SchedWatch::SchedWatch(const WatchOptions& options)
    : options_(options), sampler_(options.roots, ancestor_of(options), itself(options.subject), options.since) {}

void SchedWatch::open_trace() {
  if (!options_.roots.live()) {
    refused_ = {"cannot trace the scheduler", "", "the files read are not this machine's own", ""};
    return;
  }
  if (options_.tier == "C") {
    refused_ = {"cannot trace the scheduler", "", "--tier C", ""};
    return;
  }
  TraceOptions options;
  options.ancestor = ancestor_of(options_);
  options.itself = itself(options_.subject);
  options.tier = tier_choice(options_.tier);
  Result<std::unique_ptr<SchedTrace>> opened = SchedTrace::open(options);
  const Result<void> started = opened ? (*opened)->start() : opened.error();
  if (started)
    trace_ = std::move(*opened);
  else
    refused_ = started.error();
  if (refused_ && options_.tier == "best" && options_.subject != Watched::machine) open_switches();
}

void SchedWatch::open_switches() {
  Result<std::unique_ptr<SwitchTrace>> opened =
      options_.subject == Watched::command ? SwitchTrace::open("/") : SwitchTrace::open_of("/", options_.pid);
  const Result<void> started = opened ? (*opened)->start() : opened.error();
  if (started)
    switches_ = std::move(*opened);
  else
    switches_refused_ = started.error();
}

void SchedWatch::start() {
  look_once();
  open_trace();
  const auto look = [this] {
    const std::lock_guard lock(mutex_);
    sampler_.look(monotonic_now());
  };
  if (const Result<void> started = ticker_.start(look, kFirstLook); !started) refused_ = started.error();
}

void SchedWatch::look_once() {
  const std::lock_guard lock(mutex_);
  sampler_.look(monotonic_now());
}

std::vector<ThreadSeen> SchedWatch::threads() const {
  if (trace_) return trace_->threads();
  std::vector<ThreadWait> sums;
  {
    const std::lock_guard lock(mutex_);
    sums = sampler_.threads().waits();
  }
  if (switches_) return switches_->threads(std::move(sums));
  std::vector<ThreadSeen> threads;
  for (ThreadWait& wait : sums) threads.push_back({std::move(wait), 0, unknown_wait(""), 0, false});
  return threads;
}

SchedTable SchedWatch::table() const {
  if (trace_) return {WaitsKnown::all, threads(), trace_->windows().front().first};
  if (switches_) return {WaitsKnown::preemptions, threads(), switches_->began()};
  return {WaitsKnown::sums, threads(), 0};
}

RecordingParts SchedWatch::finish() {
  ticker_.stop();
  RecordingParts parts;
  if (trace_) {
    trace_->stop();
    add_sched_parts(*trace_, parts);
  }
  if (switches_) {
    switches_->stop();
    add_switch_parts(*switches_, parts);
  }
  if (options_.since == Since::first_look || options_.subject == Watched::command) sampler_.finish(monotonic_now());
  sampler_.add_parts(parts);
  if (refused_)
    parts.coverage.push_back(
        {"scheduler trace", "B", CoverageState::unavailable, refused_->message(), refused_->hint, 0});
  if (switches_refused_)
    parts.coverage.push_back({"scheduler switch records", "C", CoverageState::unavailable, switches_refused_->message(),
                              switches_refused_->hint, 0});
  return parts;
}

}  // namespace gradsync
