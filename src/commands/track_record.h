// The doctor's own record: what was predicted and what was then measured of the same change, an A/B or a verify a line, in
// calibration.jsonl of the state folder. Only the newest 1000 are kept; lines of other versions stay as they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/report.h"

namespace gradsync {

struct Estimate {
  double p05 = 0, p50 = 0, p95 = 0;  // ms of a step
};

struct TriedChange {
  std::int64_t at = 0;  // seconds since 1970
  std::string change;   // a remedy: no_compression, fp16_hook
  double step_ms = 0;   // with the hook or without it, whichever is longer
  Estimate predicted, measured;
  std::int64_t quadruples = 0;  // 0: of verify
  std::string tool;             // version
  std::vector<std::string> hosts;
  std::string backend, network;
  int ranks = 0, cpus = 0;
  std::map<std::string, std::string> versions;

  double error_share() const;  // |predicted − measured| ÷ that step
};

struct TrackRecord {
  std::vector<TriedChange> changes;  // oldest first
  std::size_t unreadable = 0;        // lines
  std::string problem;               // why the file cannot be read at all; empty: it can, or there is none
};

// Of the report of a run --ab; nothing where the change was not predicted, or the A/B could not judge.
std::optional<TriedChange> tried_change(const Report& report, std::int64_t now);

std::string to_line(const TriedChange& change);
std::optional<TriedChange> from_line(std::string_view line);

TrackRecord read_track_record();
// Errors: no state folder, it cannot be made, read or written, another doctor holds it for five seconds.
Result<void> append_track_record(const TriedChange& change);
// Appends what tried_change() finds and says so on stderr, or why not: never fatal.
void keep_track_record(const Report& report);
// Appends it and says so on stderr.
Result<void> keep_track_record(const TriedChange& change);

// Every prediction of a whatif report reaches as far as the errors on record say (analyzers/predict/track_record.h);
// the fact whatif.record says how far, and by how many entries.
void widen_by(const TrackRecord& record, Report& report);

}  // namespace gradsync
