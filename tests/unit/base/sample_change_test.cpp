#include "src/base/sample_change.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace gradsync;

namespace {

// Steps of 100 ms, each of which resembles the one before (`memory`), 5 % spread, one of twenty up to twice as long.
struct Job {
  int steps;
  double memory;
  double slower_percent = 0;
};

std::vector<double> run_of(const Job& job, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 1);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<double> times;
  double state = noise(random);
  for (int i = 0; i < job.steps; ++i) {
    state = job.memory * state + std::sqrt(1 - job.memory * job.memory) * noise(random);
    double ms = 100 * std::exp(0.05 * state) * (1 + job.slower_percent / 100);
    if (share(random) < 0.05) ms *= 1 + share(random);
    times.push_back(ms);
  }
  return times;
}

struct Rates {
  double p_below_5 = 0, outside_90 = 0, judged = 0;
};

Rates rates_of(const Job& before, const Job& after) {
  constexpr int kTrials = 800;
  std::mt19937_64 random(20240917);
  Rates rates;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<double> was = run_of(before, random), is = run_of(after, random);
    const std::optional<RowChange> found = row_change(was, is);
    if (!found) continue;
    const double truth = 100 * (after.slower_percent - before.slower_percent) / 100;
    rates.judged += 1.0 / kTrials;
    rates.p_below_5 += found->change.p < 0.05 ? 1.0 / kTrials : 0;
    rates.outside_90 += found->change.shift.p05 > truth || found->change.shift.p95 < truth ? 1.0 / kTrials : 0;
  }
  return rates;
}

}  // namespace

TEST_CASE("two runs of one job: false alarms stay near their level, also when steps resemble each other") {
  for (const int steps : {40, 200, 600})
    for (const double memory : {0.0, 0.3, 0.6, 0.8}) {
      CAPTURE(steps);
      CAPTURE(memory);
      const Rates rates = rates_of({steps, memory}, {steps, memory});
      CHECK(rates.p_below_5 < 0.11);   // 0.05, some memory left between blocks, and three standard errors
      CHECK(rates.outside_90 < 0.18);  // 0.10, likewise
    }
}

TEST_CASE("a step that became longer is found, and by how much") {
  struct Case {
    Job before, after;
    double power;
  };
  for (const Case& c :
       {Case{{40, 0}, {40, 0, 10}, 0.9}, {{200, 0}, {200, 0, 5}, 0.9}, {{200, 0.6}, {200, 0.6, 10}, 0.9}}) {
    CAPTURE(c.before.steps);
    const Rates rates = rates_of(c.before, c.after);
    CHECK(rates.p_below_5 > c.power);
    CHECK(rates.outside_90 < 0.18);
  }
}

TEST_CASE("blocks grow with the memory of the steps") {
  std::mt19937_64 random(1);
  CHECK(block_length(run_of({400, 0}, random)) < block_length(run_of({400, 0.8}, random)));
  CHECK(block_length(std::vector<double>{1, 2, 3}) == 4);
  CHECK(block_medians(std::vector<double>{9, 1, 2, 3, 4, 5, 6}, 3) == std::vector<double>{2, 5});
}

TEST_CASE("too few steps are no answer") {
  std::mt19937_64 random(1);
  const std::vector<double> few = run_of({12, 0}, random), many = run_of({200, 0}, random);
  CHECK_FALSE(row_change(few, many).has_value());
  CHECK_FALSE(row_change({}, many).has_value());
  CHECK_FALSE(sample_change(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}).has_value());
}

TEST_CASE("four runs a side can decide, and the interval holds the shift") {
  const std::vector<double> before{100, 101, 102, 103}, after{110, 111, 112, 113};
  const auto found = sample_change(before, after);
  REQUIRE(found);
  CHECK(found->p == doctest::Approx(2.0 / 70));
  CHECK(found->shift.estimate == 10);
  CHECK(found->shift.p05 > 5);
}
