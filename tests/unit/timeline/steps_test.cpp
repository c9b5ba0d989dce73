#include <doctest/doctest.h>

#include <string>

#include "src/timeline/builder.h"
#include "tests/support/text_events.h"

using namespace gradsync;

namespace {

RankTimeline only_rank(const std::string& text, std::vector<NameClass> ranges = {}) {
  TimelineBuilder builder(std::move(ranges));
  test::feed("process host=n pid=1\nfact rank=0\n" + text, builder);
  std::vector<RankTimeline> ranks = builder.build();
  REQUIRE(ranks.size() == 1);
  return std::move(ranks[0]);
}

std::string repeat(int times, const std::string& line, int period) {
  std::string text;
  for (int i = 0; i < times; ++i) {
    const int start = i * period;
    text += line + " " + std::to_string(start) + ".." + std::to_string(start + period / 2) + "\n";
  }
  return text;
}

int trimmed(const RankTimeline& rank) {
  int count = 0;
  for (const StepSpan& step : rank.steps) count += step.warm_up;
  return count;
}

}  // namespace

TEST_CASE("the hook's own steps come first") {
  const RankTimeline rank =
      only_rank("step 0 0..10\nstep 1 10..20 deep=1 variant=2\n" + repeat(9, "range none name=step", 10));
  CHECK(rank.step_source == StepSource::hook);
  REQUIRE(rank.steps.size() == 2);
  CHECK(rank.steps[1].number == 1);
  CHECK(rank.steps[1].deep);
  CHECK(rank.steps[1].variant == 2);
  CHECK_FALSE(rank.steps[1].counted());
}

TEST_CASE("an open step is no step") { CHECK(only_rank("step 0 0..10\nstep 1 10..0\n").steps.size() == 1); }

TEST_CASE("native ranges that mean a step") {
  const RankTimeline rank = only_rank(repeat(6, "range none name=train_step source=nvtx", 100), {{"step", "step"}});
  CHECK(rank.step_source == StepSource::nvtx);
  CHECK(rank.steps.size() == 6);
}

TEST_CASE("without marks the rarest even rhythm is the step") {
  const RankTimeline rank =
      only_rank(repeat(8, "range none name=per_step", 1000) + repeat(64, "range none name=per_layer", 125));
  CHECK(rank.step_source == StepSource::repetition);
  REQUIRE(rank.steps.size() == 7);
  CHECK(rank.steps[0].end - rank.steps[0].start == 1000 * 1000);
}

TEST_CASE("no rhythm, no steps") {
  const RankTimeline rank = only_rank("range none name=a 0..1\nrange none name=a 5..6\nrange none name=b 90..91\n");
  CHECK(rank.step_source == StepSource::none);
  CHECK(rank.steps.empty());
}

TEST_CASE("what repeats in a short stretch of the recording is no step") {
  std::string burst = "range none name=load 0..5000\n";
  for (int i = 0; i < 8; ++i)
    burst += "kernel a " + std::to_string(5000 + 2 * i) + ".." + std::to_string(5001 + 2 * i) + " stream=7\n";
  CHECK(only_rank(burst + "range none name=save 5100..5200\n").step_source == StepSource::none);
}

TEST_CASE("warm-up: three steps of a long run, slow leading ones too, one of a short run, none of a tiny one") {
  std::string even, slow_start;
  for (int i = 0; i < 100; ++i)
    even += "step " + std::to_string(i) + " " + std::to_string(i * 10) + ".." + std::to_string(i * 10 + 10) + "\n";
  CHECK(trimmed(only_rank(even)) == 3);
  for (int i = 0, t = 0; i < 100; ++i) {
    const int length = i < 6 ? 50 : 10;
    slow_start += "step " + std::to_string(i) + " " + std::to_string(t) + ".." + std::to_string(t + length) + "\n";
    t += length;
  }
  CHECK(trimmed(only_rank(slow_start)) == 6);
  CHECK(trimmed(only_rank("step 0 0..10\nstep 1 10..20\nstep 2 20..30\nstep 3 30..40\n")) == 1);
  CHECK(trimmed(only_rank("step 0 0..10\nstep 1 10..20\n")) == 0);
}

TEST_CASE("events find their step by time") {
  const RankTimeline rank = only_rank("step 0 0..10\nstep 1 10..20\n");
  CHECK(*rank.step_at(0) == 0);
  CHECK(*rank.step_at(10 * 1000) == 1);
  CHECK_FALSE(rank.step_at(20 * 1000));
}
