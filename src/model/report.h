// The Report and what it is made of: RunInfo, Coverage, attribution, findings, verdict.
// Field for field the JSON contract of schema/report.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/model/metric.h"
#include "src/model/series.h"

namespace gradsync {

inline constexpr int kReportSchemaVersion = 1;

struct RunInfo {
  std::vector<std::string> command_line;  // CMD of `run`, or the analysed files
  std::vector<std::string> hosts;
  int ranks = 0;
  std::int64_t steps = 0;  // counted steps of the rank with the fewest
  double seconds = 0;
  std::string backend;                          // gloo, nccl, …; empty = unknown
  std::map<std::string, std::string> versions;  // torch, python, nccl, cuda, driver, kernel
  int cpus = 0;
  std::string clocks;     // "one host, CLOCK_MONOTONIC"
  std::string recording;  // relative path; empty when there is none
  std::string recording_id;
  std::optional<int> exit_status;  // CMD's own
};

enum class CoverageState { collected, partial, unavailable };

struct Coverage {
  std::string source;  // "torch hook rank:1", "scheduler", "deep window"
  std::string tier;    // A, B, C or empty
  CoverageState state = CoverageState::collected;
  std::string reason;     // why it is partial or unavailable
  std::string hint;       // the command that would enable it
  std::int64_t lost = 0;  // events known to be lost
};

struct Attribution {
  std::string scope;                       // all, rank:N
  std::string step;                        // "median"
  std::map<std::string, double> parts_ms;  // class → ms; adds up to the step
  std::vector<std::string> inflated;       // classes that the observation itself made longer
  bool shares_only = false;  // observed and plain steps differ too much to name milliseconds: only ratios of the parts
};

enum class Severity { info, warning, error };
enum class FindingState { fired, clean, could_not_judge };
enum class SavingKind { bound, predicted, measured };

struct Saving {
  SavingKind kind = SavingKind::bound;
  std::string unit = "ms";           // per step
  double p05 = 0, p50 = 0, p95 = 0;  // bound: all three equal, "at most"
  std::optional<double> probability;
};

struct Finding {
  std::string rule;
  int step = 0;  // diagnostic step 1..4
  std::string scope = "all";
  Severity severity = Severity::info;
  FindingState state = FindingState::could_not_judge;
  std::string title;
  std::string says;                   // with the numbers; for could_not_judge: what is missing
  std::vector<std::string> evidence;  // metric names
  std::string where;                  // the user's own source line
  std::string why;
  std::vector<std::string> advice;    // JSON: "try"
  std::vector<std::string> explains;  // rules folded below this one
  std::optional<Saving> saves;
  std::optional<double> would_have_seen;  // clean: resolution of the metric it is judged by
  std::string would_have_seen_unit;
  std::string hint;          // could_not_judge: what would make it judgeable
  std::string folded_under;  // rule id of the fired finding that explains this one
};

enum class VerdictSign { costs, saves, neutral, unknown };

struct Verdict {
  std::string text;
  VerdictSign sign = VerdictSign::unknown;
  double ms = 0, p05 = 0, p95 = 0;
  bool measured = false;
};

struct ToolInfo {
  std::string name = "gradsync-doctor";
  std::string version;
  std::map<std::string, std::string> parts;  // rule-set version, spool format, …
};

using Facts = std::map<std::string, std::string>;

struct Report {
  ToolInfo tool;
  std::string command;  // run, analyze
  RunInfo run;
  Facts facts;
  std::vector<Coverage> coverage;
  std::vector<Metric> metrics;
  SeriesSet series;
  std::vector<Attribution> attribution;
  std::vector<Finding> findings;  // fired ones first, in printed order
  Verdict verdict;
};

// Words used in JSON, terminal and options alike.
const char* to_string(CoverageState);
const char* to_string(Severity);
const char* to_string(FindingState);
const char* to_string(SavingKind);
const char* to_string(VerdictSign);

}  // namespace gradsync
