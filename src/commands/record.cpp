#include "src/commands/record.h"

#include <exception>
#include <utility>

#include "collectors/attach/attach.h"
#include "src/commands/spool_sink.h"

namespace gradsync {

Recorder::Recorder(CollectorContext context, std::vector<std::unique_ptr<Collector>> collectors)
    : context_(std::move(context)), collectors_(std::move(collectors)) {}

Result<void> Recorder::start_one(Collector& collector, Environment& environment) const {
  try {
    return collector.start(context_, environment);
  } catch (const std::exception& error) {  // a thread refused, memory: no reason for the job not to run
    return Error{"cannot start", collector.name(), error.what(), ""};
  }
}

Environment Recorder::start(const Environment& without) {
  Environment with = without;
  with["GSD_RECORDING"] = context_.recording.string();
  with["GSD_LIBRARY"] = context_.library.string();
  const std::string probe = probe_program(context_.command_line);
  std::vector<std::unique_ptr<Collector>> running;
  for (auto& collector : collectors_) {
    Environment attempt = with;
    Coverage coverage{collector->name(), "", CoverageState::collected, "", "", 0};
    if (const Result<void> started = start_one(*collector, attempt); !started) {
      coverage.reason = started.error().message();
      coverage.hint = started.error().hint;
    } else if (attempt != with) {
      const std::string outcome = try_environment(probe, attempt);
      if (!outcome.empty()) coverage.reason = "with its variables " + outcome;
    }
    if (coverage.reason.empty()) {
      with = std::move(attempt);
      running.push_back(std::move(collector));
    } else {
      coverage.state = CoverageState::unavailable;
    }
    coverage_.push_back(std::move(coverage));
  }
  collectors_ = std::move(running);
  return with;
}

RecordingParts Recorder::finish() {
  SpoolSink events(context_.recording);
  RecordingParts parts;
  parts.coverage = std::move(coverage_);
  for (const auto& collector : collectors_) collector->stop(context_, events, parts);
  collectors_.clear();
  return parts;
}

}  // namespace gradsync
