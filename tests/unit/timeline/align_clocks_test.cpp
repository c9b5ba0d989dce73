#include "src/timeline/align_clocks.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/unit/timeline/joined_ranks.h"

using namespace gradsync;
using test::build;
using test::FakeClock;
using test::FakeRank;

namespace {

// Farthest that a step's start is from where the first rank has it.
Nanoseconds worst_error(const std::vector<RankTimeline>& ranks) {
  Nanoseconds worst = 0;
  for (const RankTimeline& rank : ranks)
    for (std::size_t i = 0; i < rank.steps.size(); ++i)
      worst = std::max(worst, std::abs(rank.steps[i].start - ranks[0].steps[i].start));
  return worst;
}

ClockAlignment align(std::vector<RankTimeline>& ranks) {
  CollectiveMatching matching = match_collectives(ranks);
  return align_clocks(ranks, matching);
}

}  // namespace

TEST_CASE("offset and drift come from the ends, although one rank arrives late") {
  auto ranks = build({{0, {"a"}, 60000, 20}, {1, {"b", 5e6, 50e-6}, 75000, 20}, {2, {"c", -5e6, -50e-6}, 60000, 20}});
  const ClockAlignment clocks = align(ranks);
  CHECK(clocks.state == ClockState::aligned);
  CHECK(clocks.text.find("aligned by the ends of 30 all-reduces, residual p90 ") == 0);
  CHECK(worst_error(ranks) < 20'000);
  for (const RankTimeline& rank : ranks) {
    REQUIRE(rank.clock_residual_us);
    CHECK(*rank.clock_residual_us > 1);
    CHECK(*rank.clock_residual_us < 25);
  }
}

TEST_CASE("drift is part of the line: an offset alone is off by the drift of the whole run") {
  std::vector<EndPair> pairs;
  for (Nanoseconds t = 0; t < 30; ++t) pairs.push_back({t * 1'000'000'000, 5'000'000 + t * 50'000});
  const ClockLine line = fit_clock(pairs).value();
  CHECK(line.drift == doctest::Approx(50e-6));
  CHECK(line.residual_us < 0.01);
  CHECK(line.map(29'000'000'000) == 29'000'000'000 - 5'000'000 - 29 * 50'000);
}

TEST_CASE("ends that are seen late, on either side, do not move the line") {
  std::vector<EndPair> pairs;
  for (Nanoseconds i = 0; i < 100; ++i)
    pairs.push_back({i * 100'000'000, 1'000'000 + (i % 5 == 1 ? 400'000 : i % 7 == 3 ? -900'000 : i % 3 * 1000)});
  const ClockLine line = fit_clock(pairs).value();
  CHECK(line.map(5'000'000'000) == doctest::Approx(5'000'000'000 - 1'001'000).epsilon(1e-6));
  CHECK(line.residual_us > 100);  // and the residual says that they are there
}

TEST_CASE("a loaded host: two of three ends are seen up to 40 ms late, and the line holds") {
  std::vector<EndPair> pairs;
  for (Nanoseconds i = 0; i < 42; ++i) {
    const Nanoseconds late = i % 3 == 0 ? i % 5 * 4000 : (i * i * 7919 % 40'000) * (i % 3 == 1 ? 1000 : -1000);
    pairs.push_back({i * 400'000'000, 5'000'000'000 + i * 400'000'000 / 50'000 + late});  // 20 ppm
  }
  const ClockLine line = fit_clock(pairs).value();
  CHECK(line.drift == doctest::Approx(20e-6).epsilon(0.1));
  CHECK(std::abs(line.offset - 5'000'000'000) < 20'000);
  CHECK(line.residual_us > 10'000);
}

TEST_CASE("clocks are not aligned by fewer than 20 ends, nor by operations that do not end together") {
  std::vector<FakeRank> few{{0, {"a"}, 60000, 0, 0, 19}, {1, {"b", 5e6}, 60000, 0, 0, 19}};
  auto ranks = build(few);
  const Nanoseconds before = ranks[1].events.front().start;
  ClockAlignment clocks = align(ranks);
  CHECK(clocks.state == ClockState::apart);
  CHECK(clocks.text == "one for each rank, not aligned");
  CHECK(clocks.why == "only 19 ends of all-reduces, all-gathers or barriers are shared by all, 20 are needed");
  CHECK(ranks[1].events.front().start == before);
  CHECK_FALSE(ranks[1].clock_residual_us);

  for (FakeRank& rank : few) {
    rank.last = 30;
    rank.operation = "broadcast";
  }
  ranks = build(few);
  CHECK(align(ranks).state == ClockState::apart);
}

TEST_CASE("ranks of one host keep their clock, and move together") {
  const FakeClock a{"a"}, b{"b", 5e6, 50e-6};
  auto ranks = build({{0, a, 60000, 10}, {1, a, 60000, 10}, {2, b, 60000, 10}, {3, b, 60000, 10}});
  const Nanoseconds apart = ranks[3].events[9].start - ranks[2].events[9].start;
  CHECK(align(ranks).state == ClockState::aligned);
  CHECK(worst_error(ranks) < 10'000);
  CHECK(ranks[3].events[9].start - ranks[2].events[9].start == apart);

  auto one_host = build({{0, a}, {1, a}});
  const ClockAlignment clocks = align(one_host);
  CHECK(clocks.state == ClockState::shared);
  CHECK_FALSE(one_host[0].clock_residual_us);
}

TEST_CASE("a rank without a communicator in common with the first is placed through others") {
  // 0 and 1 share tp, 1 and 2 share dp.
  std::string text;
  const FakeClock clocks[] = {{"a"}, {"b", 5e6, 50e-6}, {"c", -5e6, -50e-6}};
  for (int rank = 0; rank < 3; ++rank) {
    text += "process host=" + clocks[rank].host + " pid=1\nfact rank=" + std::to_string(rank) + "\n";
    for (int step = 0; step < 40; ++step) {
      const auto at = [&](double us) { return std::to_string(clocks[rank].show(test::step_start(step) + us)); };
      text += "step " + std::to_string(step) + " " + at(0) + ".." +
              std::to_string(clocks[rank].show(test::step_start(step + 1))) + "\n";
      if (rank < 2) text += "collective all_reduce " + at(100) + ".." + at(300) + " group=tp\n";
      if (rank > 0) text += "collective all_reduce " + at(500) + ".." + at(900) + " group=dp\n";
    }
  }
  TimelineBuilder builder;
  test::feed(text, builder);
  auto ranks = builder.build();
  CHECK(align(ranks).state == ClockState::aligned);
  CHECK(worst_error(ranks) < 10'000);
}

TEST_CASE("what no two clocks can do is not aligned") {
  auto ranks = build({{0, {"a"}}, {1, {"b", 0, 0.002}}});
  const ClockAlignment clocks = align(ranks);
  CHECK(clocks.state == ClockState::apart);
  CHECK(clocks.why.find("do not keep their distance") != std::string::npos);
}
