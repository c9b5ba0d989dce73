// What ranks tell each other before every call of a sweep, as text: how the last one went, and when the next begins.
// Pure.
//
//   rank 0  ──ready──┐            ┌─ start
//   rank 1  ────ready┤ exchange ──┤─ start = the latest "ready" + margin, on rank 0's clock
//   rank 2  ─ready───┘  └ answer ┘└─ start     the margin follows the slack that was left after the answers
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/fabric/sweep_session.h"

namespace gradsync {

struct CallWord {
  std::int64_t ready_ns = 0;  // on rank 0's clock, as begin_ns
  std::int64_t slack_ns = 0;  // between the last answer and the last agreed start; negative: it came too late
  bool stop = false;
  // Of the call before, if there was one:
  std::int64_t begin_ns = 0;
  double us = std::numeric_limits<double>::quiet_NaN();
  double graph_us = std::numeric_limits<double>::quiet_NaN();

  bool has_call() const { return !std::isnan(us); }
};

std::string encode(const CallWord& word);
std::optional<CallWord> decode_call(std::string_view text);
std::string encode(const SweepVisit& visit);
std::optional<SweepVisit> decode_visit(std::string_view text);

// One call over all ranks: the longest time, the skew of the starts, the longest replay.
SweepSample joined(const std::vector<CallWord>& words);

// When ranks begin, the same for all: each of them has seen the same words.
class StartMargin {
 public:
  std::int64_t start_ns(const std::vector<CallWord>& words);

 private:
  std::int64_t margin_ns_ = 300'000;
};

// Calls before the measured ones. Stable: the median of the last three is within 10 % of that of the three before,
// after six calls at least and fifty or two seconds at most. A size that was warm before: its last call took no longer
// than 1.5 times that median, after two calls at least and ten at most.
class WarmUp {
 public:
  explicit WarmUp(std::optional<double> known_us) : known_us_(known_us) {}
  void add(double us);
  bool done() const;
  double median_us() const;  // of the last three

 private:
  std::optional<double> known_us_;
  std::vector<double> us_;
  double total_us_ = 0;
};

}  // namespace gradsync
