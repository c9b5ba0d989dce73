#include "src/timeline/builder.h"

#include <doctest/doctest.h>

#include "tests/support/text_events.h"

using namespace gradsync;

namespace {

std::vector<RankTimeline> build(const char* text, std::vector<NameClass> ranges = {}) {
  TimelineBuilder builder(std::move(ranges));
  test::feed(text, builder);
  return builder.build();
}

}  // namespace

TEST_CASE("ranks come in order, whatever order their processes were read in") {
  const auto ranks = build(R"(
    process host=n pid=20
    fact rank=1 world_size=2
    step 0 0..10
    process host=n pid=10
    fact rank=0
    step 0 5..15
  )");
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].rank == 0);
  CHECK(ranks[0].process.pid == 10);
  CHECK(ranks[1].rank == 1);
  CHECK(ranks[1].fact("world_size") == "2");
}

TEST_CASE("a process without a rank gets a free number when it trains, none when it does not") {
  const auto ranks = build(R"(
    process host=n pid=10
    fact rank=0
    step 0 0..10
    process host=n pid=30
    range backward 0..5
    process host=n pid=40
    mark hello 1..1
  )");
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[1].process.pid == 30);
  CHECK(ranks[1].rank == 1);
}

TEST_CASE("feeds of one process keep their references and attributes apart") {
  const auto ranks = build(R"(
    process host=n pid=10
    fact rank=0
    collective all_reduce 0..10 dtype=float32 id=1
    wait 5..10 on=1
    process host=n pid=10
    collective gloo 2..8 source=profiler dtype=other
  )");
  REQUIRE(ranks.size() == 1);
  const RankTimeline& rank = ranks[0];
  REQUIRE(rank.events.size() == 3);
  CHECK(rank.text(rank.events[0], "dtype") == "float32");
  CHECK(rank.text(rank.events[1], "dtype") == "other");
  CHECK(rank.events[2].correlation == rank.events[0].reference);
  CHECK(rank.events[0].lane != rank.events[1].lane);
}

TEST_CASE("the training lane is the one that runs backward") {
  const auto ranks = build(R"(
    process host=n pid=10
    range backward 0..5 lane=3
    range none 0..5 lane=1
    range backward 10..15 lane=3
  )");
  REQUIRE(ranks.at(0).training_lane.has_value());
  CHECK(*ranks[0].training_lane == ranks[0].events[0].lane);
}

TEST_CASE("names of native ranges decide their phase, by data") {
  const auto ranks = build(R"(
    process host=n pid=10
    range none 0..5 name=topk_encode source=nvtx
    range none 5..9 name=all_gather source=nvtx
    range none 9..10 name=whatever source=nvtx
  )",
                           {{"topk|encode", "compress"}, {"gather", "comm"}});
  const auto& events = ranks.at(0).events;
  CHECK(events[0].phase == Phase::compress);
  CHECK(events[1].kind == Kind::collective);
  CHECK(events[2].phase == Phase::none);
}

TEST_CASE("the clock pair of a deep window is found by its file's name") {
  TimelineBuilder builder;
  test::feed(R"(
    process host=n pid=10
    window n-10-0.json 0..100 clock_open_us=3 clock_close_us=90
  )",
             builder);
  const auto clock = builder.window_clock("n", 10, "n-10-0.json");
  REQUIRE(clock);
  CHECK(clock->open == 3000);
  CHECK(clock->close == 90000);
  CHECK_FALSE(builder.window_clock("n", 10, "other.json"));
  CHECK_FALSE(builder.window_clock("n", 11, "n-10-0.json"));
}
