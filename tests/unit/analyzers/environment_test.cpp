#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

std::string rank(int number, bool clean, int steps, const std::string& facts = "") {
  return "process host=n pid=" + std::to_string(number + 1) + (clean ? " clean=1" : "") +
         "\nfact rank=" + std::to_string(number) + " world_size=2 " + facts + "\n" +
         repeat_step(steps, 1000, "range backward @0..@500");
}

}  // namespace

TEST_CASE("a rank without a goodbye, while another said it, ended early and is named with its step") {
  const Conclusions found = analyze(rank(0, true, 20) + rank(1, false, 12));
  CHECK(*found.metrics.value("rank.ended_early", "rank:1") == 1);
  CHECK(*found.metrics.value("rank.ended_early", "rank:0") == 0);
  CHECK(found.facts.at("end.rank:1") == "pid 2 on n ended without a goodbye in step 11");
}

TEST_CASE("when nobody said goodbye nobody ended early: the whole job was stopped") {
  const Conclusions found = analyze(rank(0, false, 20, "framework=ddp") + rank(1, false, 20, "framework=ddp"));
  CHECK_FALSE(found.metrics.value("rank.ended_early", "rank:0"));
  CHECK(found.coverage.size() == 2);
}

TEST_CASE("facts are joined, and said to be mixed when ranks differ") {
  const Conclusions found =
      analyze(rank(0, true, 20, "backend=gloo torch=2.1") + rank(1, true, 20, "backend=gloo torch=1.13"));
  CHECK(found.facts.at("backend") == "gloo");
  CHECK(found.facts.at("torch") == "mixed: 1.13, 2.1");
  CHECK(found.facts.at("instrumented") == "yes");
}

TEST_CASE("a profile's words for NCCL's version and the GPU; NCCL's log and the driver go first") {
  const std::string job = rank(0, true, 20, "nccl=2.20.5 gpu=A10G");
  CHECK(analyze(job).facts.at("nccl.version") == "2.20.5");
  CHECK(analyze(job).facts.at("topology.gpus") == "A10G");
  Inputs inputs;
  inputs.facts = {{"nccl.version", "2.20.5+cuda12.4"}, {"topology.gpus", "NVIDIA A10G"}};
  CHECK(analyze(job, inputs).facts.at("nccl.version") == "2.20.5+cuda12.4");
  CHECK_FALSE(analyze(job, inputs).facts.contains("topology.gpus"));  // the input's own stays
}

TEST_CASE("ranks that left nothing are missed") {
  const Conclusions found = analyze(rank(0, true, 20));
  CHECK(found.facts.at("instrumented") == "partly");
  CHECK(found.facts.at("instrumented.reason") == "1 of 2 ranks left training steps");
  CHECK(analyze("").facts.at("instrumented") == "no");
}

TEST_CASE("patches that failed and events that were lost are coverage") {
  const Conclusions found =
      analyze(rank(0, true, 20, "patch.Work.wait=failed:why") + "loss 7 disk 0..0\nloss 2 disk 0..0\n");
  const auto about = [&](const char* source) {
    return std::find_if(found.coverage.begin(), found.coverage.end(),
                        [&](const Coverage& coverage) { return coverage.source == source; });
  };
  REQUIRE(about("torch hook: Work.wait") != found.coverage.end());
  REQUIRE(about("events of rank:0") != found.coverage.end());
  CHECK(about("events of rank:0")->lost == 9);
  CHECK(about("events of rank:0")->reason == "disk");
}

TEST_CASE("files of some ranks: how many of them, and no word on a job that nobody tried to watch") {
  Inputs inputs;
  inputs.origin = Origin::files;
  const Conclusions found = analyze(rank(0, true, 20, "framework=ddp"), inputs);
  CHECK_FALSE(found.facts.contains("instrumented"));
  REQUIRE(found.coverage.size() == 1);
  CHECK(found.coverage[0].reason == "the files hold 1 of 2 ranks");
}
