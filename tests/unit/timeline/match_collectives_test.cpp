#include "src/timeline/match_collectives.h"

#include <doctest/doctest.h>

#include "tests/unit/timeline/joined_ranks.h"

using namespace gradsync;
using test::build;
using test::FakeClock;
using test::FakeRank;

namespace {

// Ends of one collective that are the same moment, by the true step that the event stands in.
bool same_moments(const std::vector<RankTimeline>& ranks, const CollectiveMatching& found) {
  for (const MatchedCollective& collective : found.collectives) {
    const auto step_of = [&](const CollectiveMember& member) {
      const RankTimeline& rank = ranks[member.rank];
      return rank.steps[*rank.step_at(rank.events[member.event].start)].number;
    };
    for (const CollectiveMember& member : collective.members)
      if (step_of(member) != step_of(collective.members.front())) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("collectives are matched by order where traces begin and end at different moments") {
  const FakeClock a{"a"}, b{"b", 5e6, 50e-6}, c{"c", -3e6};
  const auto ranks = build({{0, a, 60000, 40, 0, 30}, {1, b, 60000, 40, 3, 32}, {2, c, 60000, 40, 1, 27}});
  const CollectiveMatching found = match_collectives(ranks);
  CHECK(same_moments(ranks, found));
  CHECK(found.events == 30 + 29 + 26);
  REQUIRE(found.collectives.size() == 29);  // steps 1 … 29
  CHECK(found.cut == 1 + 2);                // step 0 of the first, 30 and 31 of the second
  CHECK(found.collectives.front().members.size() == 2);
  CHECK_FALSE(found.collectives.front().complete);
  CHECK(found.collectives[5].complete);
}

TEST_CASE("without step numbers the ends alone tell the shift") {
  auto ranks = build({{0, {"a"}, 60000, 40, 0, 30}, {1, {"b", 7e6}, 60000, 40, 4, 34}});
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t s = 0; s < ranks[r].steps.size(); ++s) ranks[r].steps[s].number = static_cast<long>(s);
  const CollectiveMatching found = match_collectives(ranks);
  REQUIRE(found.collectives.size() == 26);
  const auto& first = found.collectives.front().members;
  CHECK(ranks[1].events[first[1].event].start - ranks[0].events[first[0].event].start == 7'000'000'000);
}

TEST_CASE("sequence numbers are believed before order") {
  std::string text[2];
  for (int rank = 0; rank < 2; ++rank) {
    text[rank] = "process host=n pid=" + std::to_string(rank + 1) + "\nfact rank=" + std::to_string(rank) + "\n";
    for (int i = rank == 0 ? 0 : 2; i < 8; ++i)  // evenly spaced: order could not tell
      text[rank] += "collective all_reduce " + std::to_string(i * 1000 + 100) + ".." + std::to_string(i * 1000 + 200) +
                    " bytes=8 group=dp seq=" + std::to_string(i) + "\n";
  }
  TimelineBuilder builder;
  test::feed(text[0], builder);
  test::feed(text[1], builder);
  const auto ranks = builder.build();
  const CollectiveMatching found = match_collectives(ranks);
  CHECK(found.collectives.size() == 6);
  CHECK(found.cut == 2);
  for (const MatchedCollective& one : found.collectives)
    CHECK(ranks[0].events[one.members[0].event].start == ranks[1].events[one.members[1].event].start);
}

TEST_CASE("ranks that did different things are not matched") {
  FakeRank other{1, {"a"}};
  other.operation = "all_gather";
  const CollectiveMatching found = match_collectives(build({{0, {"a"}}, other}));
  CHECK(found.collectives.empty());
  CHECK(found.differ == 30);
}

TEST_CASE("several communicators under one name cannot be told apart") {
  std::vector<FakeRank> ranks;
  for (int i = 0; i < 4; ++i) ranks.push_back({i, {"a"}, 60000, 0, 0, 30, "all_reduce", "group_size=2"});
  CHECK(match_collectives(build(ranks)).collectives.empty());
}

TEST_CASE("only what ends together tells clocks") {
  for (const auto& [operation, together] : {std::pair{"all_reduce", true},
                                            {"all_gather", true},
                                            {"barrier", true},
                                            {"broadcast", false},
                                            {"send_recv", false},
                                            {"reduce", false},
                                            {"all_to_all", false},
                                            {"reduce_scatter", false}}) {
    FakeRank a{0, {"a"}}, b{1, {"a"}};
    a.operation = b.operation = operation;
    const CollectiveMatching found = match_collectives(build({a, b}));
    REQUIRE(found.collectives.size() == 30);
    CHECK((found.collectives.front().ends == Ends::together) == together);
  }
}

TEST_CASE("backward of plain DDP ends with its last all-reduce; inside no_sync it does not") {
  for (const int sync : {0, 1}) {
    std::string text;
    for (int rank = 0; rank < 2; ++rank) {
      text +=
          "process host=h" + std::to_string(rank) + " pid=1\nfact rank=" + std::to_string(rank) + " framework=ddp\n";
      for (int step = 0; step < 5; ++step) {
        const auto at = [&](int us) { return std::to_string(step * 1000 + us); };
        text += "step " + std::to_string(step) + " " + at(0) + ".." + at(1000) + "\nrange forward " + at(10) + ".." +
                at(100) + " source=torch_hook ddp_sync=" + std::to_string(sync) + "\nrange backward " + at(200) + ".." +
                at(900) + " source=torch_hook compute_end_us=" + at(700) + "\n";
      }
    }
    TimelineBuilder builder;
    test::feed(text, builder);
    const CollectiveMatching found = match_collectives(builder.build());
    CHECK(found.collectives.size() == (sync == 1 ? 5 : 0));
    if (sync == 1) CHECK(found.collectives.front().ends == Ends::of_backward);
  }
}

TEST_CASE("what the host of a GPU job saw of a collective tells nothing about its device") {
  std::vector<RankTimeline> ranks = build({{0, {"a"}}, {1, {"b"}}});
  for (RankTimeline& rank : ranks) rank.facts["device"] = "cuda";
  CHECK(match_collectives(ranks).collectives.empty());
}

TEST_CASE("stamps of a damaged file take no part") {
  TimelineBuilder builder;
  for (int rank = 0; rank < 2; ++rank) {
    builder.begin_process({.host = "h", .pid = rank + 1});
    builder.fact("rank", std::to_string(rank));
    Event event;
    event.kind = Kind::collective;
    event.name = builder.intern("all_reduce");
    event.start = rank == 0 ? INT64_MIN : INT64_MAX - 5;
    event.end = INT64_MAX;
    builder.event(event);
  }
  CHECK(match_collectives(builder.build()).events == 0);
}
