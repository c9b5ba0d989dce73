// What the doctor's own errors make of its next prediction.
#include "analyzers/predict/track_record.h"

#include <doctest/doctest.h>

#include <vector>

namespace gradsync {

TEST_CASE("the error that nine of ten changes stay below: by rank among those on record, a prior where they are few") {
  struct Case {
    const char* what;
    std::vector<double> errors;
    double share;
  };
  std::vector<double> hundredths;
  for (int i = 19; i >= 1; --i) hundredths.push_back(0.01 * i);
  for (const Case& one : std::vector<Case>{{"none: the prior", {}, 0.05},
                                           {"few and small: the prior", {0.01, 0.02, 0.01, 0.02}, 0.05},
                                           {"few, one of them large: that one", {0.01, 0.3}, 0.3},
                                           {"five: the largest", {0.01, 0.02, 0.01, 0.02, 0.03}, 0.03},
                                           {"nine: the ninth", {1, 2, 3, 4, 5, 6, 7, 8, 9}, 9},
                                           {"nineteen: the eighteenth", hundredths, 0.18}}) {
    CAPTURE(one.what);
    CHECK(error_share(one.errors) == doctest::Approx(one.share));
  }
}

TEST_CASE("an interval reaches as far as the error, never above the cap, and never gets narrower") {
  const Prediction narrow{9, 10, 11, 1, 12};
  const Prediction wide = widened(narrow, 5);
  CHECK(wide.p05 == 5);
  CHECK(wide.p50 == 10);
  CHECK(wide.p95 == 12);
  CHECK(widened(narrow, 0.5).p05 == 9);
  CHECK(widened(narrow, 0.5).p95 == 11);
  CHECK(widened(wide, 5).p05 == wide.p05);  // twice is once
  CHECK(widened(wide, 5).probability == wide.probability);
}

TEST_CASE("a gain that the record cannot tell from nothing is not worth trying") {
  const Prediction prediction{9, 10, 11, 1, 50};
  CHECK(worth_trying(prediction, 100));
  CHECK(worth_trying(widened(prediction, 10), 100));  // 1.645 deviations: 95 %
  CHECK(widened(prediction, 10).probability == doctest::Approx(0.95).epsilon(0.002));
  CHECK_FALSE(worth_trying(widened(prediction, 20), 100));
  CHECK_FALSE(worth_trying(prediction, 600));  // less than 2 %
  // A loss may turn out a gain.
  CHECK(widened({-11, -10, -9, 0, 50}, 20).probability == doctest::Approx(0.206).epsilon(0.01));
  CHECK(widened({-11, -10, -9, 0, 50}, 20).p95 == 10);
}

}  // namespace gradsync
