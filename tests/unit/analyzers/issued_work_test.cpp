// Kernels of the CUPTI collector belong to the phase of the range that launched them; no operators tell it.
#include "analyzers/issued_work.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

// Thread 1 trains; 2 is the engine's, which runs backward's nodes and the communication hook without saying so.
constexpr const char* kStep = R"(
  process host=n pid=1
  fact rank=0
  step 0 0..1000
  range forward 10..100 lane=1
  host_call launch 20..21 lane=1 source=cupti on=1
  range backward 110..500 lane=1
  host_call launch 120..121 lane=2 source=cupti on=2
  range compress 300..400 lane=2 hook=1
  host_call launch 310..311 lane=2 source=cupti on=3
  host_call launch 350..351 lane=2 source=cupti on=4
  range optimizer 600..700 lane=1
  host_call launch 550..551 lane=1 source=cupti on=5
  host_call launch 610..611 lane=1 source=cupti on=6
  kernel forward_one 22..30 stream=7 source=cupti on=1
  kernel backward_one 125..200 stream=7 source=cupti on=2
  kernel nobody_knows_me 320..340 stream=7 source=cupti on=3
  collective all_reduce 360..420 stream=8 source=cupti on=4
  kernel after_backward 560..570 stream=7 source=cupti on=5
  kernel adam 620..650 stream=7 source=cupti on=6
  kernel no_call 900..910 stream=7 source=cupti on=77
)";

std::map<std::string, Doing> doings(const std::vector<NameClass>& rows) {
  const std::vector<RankTimeline> ranks = test::timelines(kStep);
  NameKinds kinds(rows, ranks.at(0));
  std::map<std::string, Doing> found;
  for (const Work& work : issued_work(ranks[0], kinds).list)
    found[std::string(ranks[0].name(*work.event))] = work.doing;
  return found;
}

}  // namespace

TEST_CASE("the range around the launch, else the phase that is going on, tells what a kernel was for") {
  const std::map<std::string, Doing> expected{
      {"forward_one", Doing::model},       {"backward_one", Doing::model}, {"nobody_knows_me", Doing::gradient},
      {"all_reduce", Doing::gradient},     {"adam", Doing::stepping},      {"no_call", Doing::unknown},
      {"after_backward", Doing::gradient},
  };
  CHECK(doings({}) == expected);
}

TEST_CASE("a kernel in a communication hook counts, though its name is unknown") {
  Inputs inputs;
  inputs.operator_classes = {{"adam", "optimizer"}};
  const Conclusions found = test::analyze(kStep, inputs);
  const auto series = found.series.find("unknown_kernels");
  REQUIRE(series != found.series.end());
  bool seen = false;
  for (const auto& row : series->second.rows) seen |= std::get<std::string>(row[0]) == "nobody_knows_me";
  CHECK(seen);
}
