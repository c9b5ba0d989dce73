#include "analyzers/annealing.h"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace gradsync;

TEST_CASE("density over a training: the quoted schedule, and one that ends where it says") {
  struct Case {
    double progress, quoted, down, up, curved;  // from 5 %; 5 to 0.5 % and 2 to 10 % straight; 2 to 10 % quadratic
  };
  for (const Case& one : {Case{0, 5, 5, 2, 2}, Case{0.5, 1.25, 2.75, 6, 8}, Case{0.9, 0.05, 0.95, 9.2, 9.92},
                          Case{1, 0, 0.5, 10, 10}, Case{1.5, 0, 0.5, 10, 10}}) {
    CAPTURE(one.progress);
    CHECK(quoted_density(5, one.progress) == doctest::Approx(one.quoted));
    CHECK(annealed_density(5, 0.5, one.progress, 1) == doctest::Approx(one.down));
    CHECK(annealed_density(2, 10, one.progress, 1) == doctest::Approx(one.up));
    CHECK(annealed_density(2, 10, one.progress, 2) == doctest::Approx(one.curved));
  }
}
