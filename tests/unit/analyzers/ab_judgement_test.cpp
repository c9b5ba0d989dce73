#include <doctest/doctest.h>

#include <random>

#include "analyzers/ab.h"

namespace gradsync {
namespace {

using Blocks = std::map<std::int64_t, AbBlock>;

struct Job {
  double step_ms = 60, effect_ms = 0, drift_ms = 0;  // drift: over the whole job
  double noise = 0.08;                               // of a step
  std::uint32_t seed = 1;
};

// Blocks of four counted steps, ABBA or BAAB by lot. Noise is skewed, a step in thirty takes twice as long, and the
// whole machine is slower or faster for some blocks at a time.
Blocks simulated(int quadruples, const Job& job) {
  std::mt19937 random(job.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Blocks blocks;
  double weather = 0;
  for (int quadruple = 0; quadruple < quadruples; ++quadruple) {
    const bool outer = uniform(random) < 0.5;
    for (int i = 0; i < 4; ++i) {
      AbBlock& block = blocks[4 * quadruple + i];
      block.without = (i == 0 || i == 3) == outer;
      weather = 0.8 * weather + 0.03 * normal(random);
      const double drift = job.drift_ms * quadruple / quadruples;
      for (int step = 0; step < 4; ++step) {
        const double slow = uniform(random) < 1.0 / 30 ? 2 : 1;
        block.samples.push_back((job.step_ms + drift + (block.without ? 0 : job.effect_ms)) *
                                std::exp(weather + job.noise * normal(random)) * slow);
      }
    }
  }
  return blocks;
}

int signed_verdicts(const Job& job, int jobs, AbAnswer wanted) {
  int count = 0;
  for (int i = 0; i < jobs; ++i) {
    Job one = job;
    one.seed = job.seed + static_cast<std::uint32_t>(i);
    count += judge_ab(ab_quadruples(simulated(20, one))).answer == wanted;
  }
  return count;
}

}  // namespace

TEST_CASE("a quadruple: medians of blocks, with minus without, and the same blocks against their like") {
  const Blocks blocks{{0, {false, {10, 11, 99}}}, {1, {true, {5, 6, 7}}}, {2, {true, {4, 4, 4}}},
                      {3, {false, {13, 13, 13}}}, {4, {true, {6}}},       {5, {false, {10}}},
                      {6, {false, {10}}},         {7, {true, {6}}},       {8, {true, {6}}},
                      {9, {false, {10}}},         {10, {false, {10}}} /* 11 is missing */};
  const std::vector<AbQuadruple> quadruples = ab_quadruples(blocks);
  REQUIRE(quadruples.size() == 2);
  CHECK(quadruples[0].with == doctest::Approx(12));
  CHECK(quadruples[0].without == doctest::Approx(5));
  CHECK(quadruples[0].effect == doctest::Approx(7));
  CHECK(quadruples[0].control == doctest::Approx((11.0 - 13 + 6 - 4) / 2));
  CHECK(quadruples[1].effect == doctest::Approx(4));  // BAAB
  CHECK(quadruples[1].control == 0);
}

TEST_CASE("blocks that are no quadruple are none") {
  CHECK(ab_quadruples({{0, {false, {1}}}, {1, {false, {1}}}, {2, {true, {1}}}, {3, {true, {1}}}}).empty());
  CHECK(ab_quadruples({{0, {false, {1}}}, {1, {true, {}}}, {2, {true, {1}}}, {3, {false, {1}}}}).empty());
  CHECK(ab_quadruples({}).empty());
  CHECK(judge_ab({}).answer == AbAnswer::too_few);
}

TEST_CASE("forty jobs in which nothing differs give at most one signed verdict") {
  for (const double drift : {0.0, 30.0}) {
    const Job same{60, 0, drift, 0.08, 100};
    CHECK(signed_verdicts(same, 40, AbAnswer::costs) + signed_verdicts(same, 40, AbAnswer::saves) <= 1);
  }
}

TEST_CASE("a planted effect of a tenth of the step is found, with its sign") {
  CHECK(signed_verdicts({60, 6, 0, 0.08, 300}, 40, AbAnswer::costs) >= 38);
  CHECK(signed_verdicts({60, -6, 0, 0.08, 500}, 40, AbAnswer::saves) >= 38);
  const AbJudgement found = judge_ab(ab_quadruples(simulated(20, {60, 6, 30, 0.08, 7})));  // while the job slows down
  CHECK(found.answer == AbAnswer::costs);
  CHECK(found.effect.shift.p05 > 0);
  CHECK(found.effect.shift.p05 < 6);
  CHECK(found.effect.shift.p95 > 6);
}

TEST_CASE("nine quadruples are too few, however large the effect") {
  CHECK(judge_ab(ab_quadruples(simulated(9, {60, 60, 0, 0.01, 1}))).answer == AbAnswer::too_few);
  CHECK(judge_ab(ab_quadruples(simulated(10, {60, 60, 0, 0.01, 1}))).answer == AbAnswer::costs);
}

TEST_CASE("what the control shows as well is no effect") {
  std::vector<AbQuadruple> quadruples;
  for (int i = 0; i < 12; ++i) quadruples.push_back({i, 61, 60, 1 + 0.01 * i, 3});
  CHECK(judge_ab(quadruples).answer == AbAnswer::no_difference);
  for (AbQuadruple& quadruple : quadruples) quadruple.control = quadruple.number % 2 == 0 ? 0.1 : -0.1;
  CHECK(judge_ab(quadruples).answer == AbAnswer::costs);
}

}  // namespace gradsync
