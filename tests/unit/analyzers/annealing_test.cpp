#include "analyzers/annealing.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("density over a training: the quoted schedule, and one that ends where it says") {
  // progress, quoted from 5 %, straight from 5 % to 0.5 %, straight from 2 % to 10 %, quadratic from 2 % to 10 %
  const double cases[][5] = {{0, 5, 5, 2, 2},
                             {0.5, 1.25, 2.75, 6, 8},
                             {0.9, 0.05, 0.95, 9.2, 9.92},
                             {1, 0, 0.5, 10, 10},
                             {1.5, 0, 0.5, 10, 10}};
  for (const auto& [progress, quoted, down, up, curved] : cases) {
    CAPTURE(progress);
    CHECK(quoted_density(5, progress) == doctest::Approx(quoted));
    CHECK(annealed_density(5, 0.5, progress, 1) == doctest::Approx(down));
    CHECK(annealed_density(2, 10, progress, 1) == doctest::Approx(up));
    CHECK(annealed_density(2, 10, progress, 2) == doctest::Approx(curved));
  }
}
