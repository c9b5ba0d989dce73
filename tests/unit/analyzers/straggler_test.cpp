#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

std::string rank(int number, int compute_end, const std::string& host = "n") {
  return "process host=" + host + " pid=" + std::to_string(number + 1) + "\nfact rank=" + std::to_string(number) +
         " world_size=3 framework=ddp hook.kind=none\n" +
         repeat_step(20, 100000,
                     "range backward @20000..@80000 compute_end_us=@" + std::to_string(compute_end) +
                         "\nrange optimizer @90000..@100000");
}

}  // namespace

TEST_CASE("a late rank is late against the median of the others") {
  const Conclusions found = analyze(rank(0, 50000) + rank(1, 52000) + rank(2, 70000));
  CHECK(*found.metrics.value("straggler.late_ms", "rank:2") == doctest::Approx(19));
  CHECK(*found.metrics.value("straggler.last_arrival_percent", "rank:2") == doctest::Approx(100));
  CHECK(*found.metrics.value("straggler.last_arrival_percent", "rank:0") == doctest::Approx(0));
  CHECK(*found.metrics.value("straggler.late_percent", "rank:2") == doctest::Approx(19));
  CHECK(*found.metrics.value("straggler.late_over_residual", "rank:2") > 1000);
}

TEST_CASE("one rank has no peers to be late against") {
  CHECK_FALSE(analyze(rank(0, 50000)).metrics.value("straggler.late_ms", "rank:0"));
}

TEST_CASE("the host of a GPU job runs ahead of its device: when it is done with backward says nothing") {
  std::string text;
  for (const auto& [number, compute_end] : {std::pair{0, 50000}, {1, 70000}})
    text += "process host=n pid=" + std::to_string(number + 1) + "\nfact rank=" + std::to_string(number) +
            " world_size=2 framework=ddp hook.kind=none device=cuda\n" +
            repeat_step(20, 100000,
                        "range backward @20000..@80000 compute_end_us=@" + std::to_string(compute_end) +
                            "\nrange optimizer @90000..@100000");
  CHECK_FALSE(analyze(text).metrics.value("straggler.late_ms", "rank:1").has_value());
}

//   rank 0   a         all_reduce            a         all_reduce            steps found: a … a
//   rank 1        c    all_reduce                 c    all_reduce            steps found: c … c, or all_reduce … all_reduce
TEST_CASE("steps found by repetition begin anywhere in a rank's step: their numbers are not compared") {
  std::string text;
  for (const auto& [number, marker] : {std::pair{0, 10000}, {1, 60000}}) {
    text += "process host=n pid=" + std::to_string(number + 1) + "\nfact rank=" + std::to_string(number) +
            " world_size=2 device=cuda\n";
    for (int step = 0; step < 30; ++step) {
      const auto at = [step](int us) { return std::to_string(100000 * (step + 1) + us); };
      text += "collective all_reduce " + at(50000) + ".." + at(59000) + " stream=8 source=profiler\n";
      if (step > 0) text += "kernel k " + at(marker) + ".." + at(marker + 9000) + " stream=7 source=profiler\n";
    }
  }
  const std::vector<RankTimeline> ranks = test::timelines(text);
  REQUIRE(ranks.size() == 2);
  REQUIRE(ranks[0].step_source == StepSource::repetition);
  REQUIRE(ranks[0].steps[0].start % 100'000'000 != ranks[1].steps[0].start % 100'000'000);
  CHECK_FALSE(analyze(text).metrics.value("straggler.late_ms", "rank:1").has_value());
}
