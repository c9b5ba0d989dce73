// How often `compare` is wrong about two runs, by simulation: false alarms where nothing changed, power where the step
// became longer, and the answers of its gate.
//   compare_power [TRIALS]     default: 2000
// Steps are log-normal, 5 % spread, one of twenty up to twice as long; a step remembers the one before (memory), half of
// the spread may be forgotten at once (white). `runs`: how far two runs of the same job lie apart besides, in percent of
// the step (standard deviation), which one run a side cannot know.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "src/base/sample_change.h"
#include "src/base/statistics.h"

namespace {

struct Job {
  int steps;
  double memory, white, runs_percent;
};

class Runs {
 public:
  Runs(const Job& job, std::uint64_t seed) : job_(job), random_(seed) {}

  std::vector<double> next(double slower_percent) {
    const double own = 1 + job_.runs_percent / 100 * noise_(random_);
    std::vector<double> times;
    double state = noise_(random_);
    for (int i = 0; i < job_.steps; ++i) {
      state = job_.memory * state + std::sqrt(1 - job_.memory * job_.memory) * noise_(random_);
      const double spread = std::sqrt(1 - job_.white) * state + std::sqrt(job_.white) * noise_(random_);
      double ms = 100 * own * std::exp(0.05 * spread) * (1 + slower_percent / 100);
      if (share_(random_) < 0.05) ms *= 1 + share_(random_);
      times.push_back(ms);
    }
    return times;
  }

 private:
  const Job& job_;
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_{0, 1};
  std::uniform_real_distribution<double> share_{0, 1};
};

struct Tally {
  int judged = 0, different = 0, regression = 0, passed = 0;
  double half = 0;

  void add(const gradsync::SampleChange& change, double gate_ms) {
    ++judged;
    different += change.p < 0.05 ? 1 : 0;
    regression += change.shift.p05 > gate_ms ? 1 : 0;
    passed += change.shift.p95 <= gate_ms ? 1 : 0;
    half += (change.shift.p95 - change.shift.p05) / 2;
  }
};

Tally one_each(const Job& job, double slower_percent, int trials) {
  Tally tally;
  for (int trial = 0; trial < trials; ++trial) {
    Runs runs(job, 1000003ULL * static_cast<std::uint64_t>(trial) + 17);
    const std::vector<double> before = runs.next(0), after = runs.next(slower_percent);
    if (const auto found = gradsync::row_change(before, after)) tally.add(found->change, 5);
  }
  return tally;
}

Tally several(const Job& job, int runs_a_side, double slower_percent, int trials) {
  Tally tally;
  for (int trial = 0; trial < trials; ++trial) {
    Runs runs(job, 1000003ULL * static_cast<std::uint64_t>(trial) + 17);
    std::vector<double> before, after;
    for (int i = 0; i < runs_a_side; ++i) {
      before.push_back(*gradsync::median(runs.next(0)));
      after.push_back(*gradsync::median(runs.next(slower_percent)));
    }
    if (const auto found = gradsync::sample_change(before, after)) tally.add(*found, 5);
  }
  return tally;
}

void print(const Job& job, int runs_a_side, double slower, const Tally& tally, int trials) {
  const auto share = [trials](int count) { return static_cast<double>(count) / trials; };
  fmt::print("{:>4} {:>6} {:>7.1f} {:>6.1f} {:>6.1f} {:>7.0f} {:>8} {:>8.3f} {:>9.3f} {:>11.3f} {:>7.3f} {:>8.2f}\n",
             runs_a_side, job.steps, job.memory, job.white, job.runs_percent, slower, trials, share(tally.judged),
             share(tally.different), share(tally.regression), share(tally.passed),
             tally.judged == 0 ? 0 : tally.half / tally.judged);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 2000;
  fmt::print("{:>4} {:>6} {:>7} {:>6} {:>6} {:>7} {:>8} {:>8} {:>9} {:>11} {:>7} {:>8}\n", "runs", "steps", "memory",
             "white", "runs %", "slower%", "trials", "judged", "p<0.05", "gate 5%: no", "passed", "half ±%");
  for (const int steps : {40, 200, 600})
    for (const auto& [memory, white] : {std::pair{0.0, 0.0}, {0.3, 0.0}, {0.6, 0.0}, {0.8, 0.0}, {0.8, 0.5}})
      for (const double slower : {0.0, 5.0, 10.0}) {
        const Job job{steps, memory, white, 0};
        print(job, 1, slower, one_each(job, slower, trials), trials);
      }
  for (const double apart : {1.0, 3.0})
    for (const double slower : {0.0, 10.0}) {
      const Job job{200, 0.3, 0, apart};
      print(job, 1, slower, one_each(job, slower, trials), trials);
      for (const int runs : {3, 4, 6, 10}) print(job, runs, slower, several(job, runs, slower, trials / 4), trials / 4);
    }
}
