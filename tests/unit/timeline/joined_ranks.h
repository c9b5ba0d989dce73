// Ranks that synchronise by collectives, written as text: what each rank's clock shows of the same true moments.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "src/timeline/builder.h"
#include "tests/support/text_events.h"

namespace gradsync::test {

struct FakeClock {
  std::string host;
  double offset_us = 0, drift = 0;
  long show(double true_us) const { return std::lround(true_us * (1 + drift) + offset_us); }
};

// Steps that are never perfectly even: 100 ms, now and then up to 7 ms more.
inline double step_start(int step) { return 1e8 + step * 100000.0 + (step * step * 37 % 101) * 70.0; }

// One collective a step: arrival at `arrives_us` of it, completion of all at 80 ms, seen up to `noise_us` late.
struct FakeRank {
  int number = 0;
  FakeClock clock;
  double arrives_us = 60000;
  int noise_us = 0;
  int first = 0, last = 30;  // steps that the trace shows
  std::string operation = "all_reduce";
  std::string more;  // further fields of the collective
};

inline std::string write(const FakeRank& rank) {
  std::string text = "process host=" + rank.clock.host + " pid=" + std::to_string(rank.number + 1) +
                     "\nfact rank=" + std::to_string(rank.number) + "\n";
  for (int step = rank.first; step < rank.last; ++step) {
    const auto at = [&](double us) { return std::to_string(rank.clock.show(step_start(step) + us)); };
    const int noise = rank.noise_us == 0 ? 0 : (step * 7919 + rank.number * 104729) % rank.noise_us;
    text += "step " + std::to_string(step) + " " + at(0) + ".." +
            std::to_string(rank.clock.show(step_start(step + 1))) + "\ncollective " + rank.operation + " " +
            at(rank.arrives_us) + ".." + at(80000.0 + noise) + " bytes=4096 group=dp " + rank.more + "\n";
  }
  return text;
}

inline std::vector<RankTimeline> build(const std::vector<FakeRank>& ranks) {
  TimelineBuilder builder;
  for (const FakeRank& rank : ranks) feed(write(rank), builder);
  return builder.build();
}

}  // namespace gradsync::test
