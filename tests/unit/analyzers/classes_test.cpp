#include "analyzers/classes.h"

#include <doctest/doctest.h>

#include <random>

using namespace gradsync;

TEST_CASE("a nanosecond goes to the first class that claims it, the rest is idle") {
  Activity activity;
  activity[StepClass::compute] = IntervalSet({{0, 10}});
  activity[StepClass::compress] = IntervalSet({{5, 20}});
  activity[StepClass::comm] = IntervalSet({{15, 40}});
  const Activity claimed = claim(activity, {0, 50});
  CHECK(claimed[StepClass::compute] == IntervalSet({{0, 10}}));
  CHECK(claimed[StepClass::compress] == IntervalSet({{10, 20}}));
  CHECK(claimed[StepClass::comm] == IntervalSet({{20, 40}}));
  CHECK(claimed[StepClass::idle] == IntervalSet({{40, 50}}));
}

TEST_CASE("the classes add up to the step, whatever goes on in it") {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Activity activity;
    for (IntervalSet& set : activity.of) {
      std::vector<Interval> intervals;
      for (int i = 0; i < 5; ++i) {
        const Nanoseconds start = static_cast<Nanoseconds>(random() % 1200) - 100;
        intervals.push_back({start, start + static_cast<Nanoseconds>(random() % 300)});
      }
      set = IntervalSet(intervals);
    }
    Nanoseconds total = 0;
    for (const IntervalSet& set : claim(activity, {0, 1000}).of) total += set.length();
    CHECK(total == 1000);
  }
}
