// The two halves of every analyzer: summaries of ranks merge in any order to the same conclusions.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

std::string rank(int number) {
  return "process host=n pid=" + std::to_string(number + 1) +
         " clean=1 self_us=90\nfact rank=" + std::to_string(number) +
         " world_size=3 framework=ddp hook.kind=none ddp.gradient_bytes=4000 device=cpu\n" +
         test::repeat_step(15, 1000 + number,
                           "range forward @0..@200\nrange backward @200..@700 compute_end_us=@" +
                               std::to_string(500 + 10 * number) +
                               "\nhost_sync item @300..@310 site=a.py:3\nrange optimizer @700..@900");
}

}  // namespace

TEST_CASE("summaries merge in any order, and conclusions do not depend on it") {
  const auto ranks = test::timelines(rank(0) + rank(1) + rank(2));
  const Inputs inputs;
  std::vector<std::size_t> order{0, 1, 2};
  std::vector<Summary> merged;
  std::vector<std::vector<Metric>> metrics;
  do {
    Summary all;
    for (const std::size_t i : order) {
      Summary one;
      for (const auto& analyzer : test::analyzers_in_order()) analyzer->summarise(ranks[i], inputs, one);
      all.merge(std::move(one));
    }
    all.canonicalise();
    Conclusions conclusions;
    for (const auto& analyzer : test::analyzers_in_order()) analyzer->conclude(all, inputs, conclusions);
    merged.push_back(all);
    metrics.push_back(conclusions.metrics.all());
  } while (std::next_permutation(order.begin(), order.end()));
  REQUIRE(merged.size() == 6);
  for (std::size_t i = 1; i < merged.size(); ++i) {
    CHECK(merged[i] == merged[0]);
    REQUIRE(metrics[i].size() == metrics[0].size());
    for (std::size_t m = 0; m < metrics[0].size(); ++m) {
      CHECK(metrics[i][m].name == metrics[0][m].name);
      CHECK(metrics[i][m].value == metrics[0][m].value);
    }
  }
}
