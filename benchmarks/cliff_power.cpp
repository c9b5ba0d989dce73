// How often the cliff test is wrong, by simulation: false alarms on curves without a cliff, power on curves with one.
//   cliff_power [TRIALS] [TRIALS THAT GROW]     default: 2000 and 200; 11 and 17 sizes from 1 KiB, ten repeats
// Noise is log-normal with 5 % outliers of up to four times. Rows with a mean r: repeats grow by half (10, 15, 22, …)
// until the answer is there or 50 are reached, as in a live sweep, so that the test is asked several times.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "analyzers/find_cliffs.h"

namespace {

using gradsync::SizeSample;

struct Shape {
  const char* name;
  std::function<double(double)> us;
  double cliff_at;  // bytes; 0: none
};

// 5 µs and 8 GB/s; from 64 KiB what the name says.
double plain(double bytes) { return 5 + bytes / 8e3; }

const std::vector<Shape> kShapes{
    {"alpha-beta", plain, 0},
    {"LL to Simple, no drop", [](double b) { return std::min(5 + b / 2e3, 12 + b / 8e3); }, 0},
    {"saturated", [](double b) { return b / 8e3; }, 0},
    {"8 to 2 GB/s", [](double b) { return b < 65536 ? b / 8e3 : b / 2e3; }, 65536},
    {"28 % drop", [](double b) { return b < 65536 ? b / 8e3 : b / 8e3 / 0.72; }, 65536},
    {"18 % drop", [](double b) { return b < 65536 ? b / 8e3 : b / 8e3 / 0.82; }, 65536},
};

class Fabric {
 public:
  Fabric(const Shape& shape, double noise, std::uint64_t seed) : shape_(shape), noise_(0, noise), random_(seed) {}

  void repeat(std::vector<SizeSample>& sizes, std::size_t until) {
    for (SizeSample& size : sizes)
      while (size.us.size() < until) {
        double us = shape_.us(static_cast<double>(size.bytes)) * std::exp(noise_(random_));
        if (uniform_(random_) < 0.05) us *= 1 + 3 * uniform_(random_);
        size.us.push_back(us);
      }
  }

 private:
  const Shape& shape_;
  std::normal_distribution<double> noise_;
  std::uniform_real_distribution<double> uniform_{0, 1};
  std::mt19937_64 random_;
};

struct Tally {
  int found = 0, elsewhere = 0, undecided = 0;
  double visible = 0, repeats = 0;
};

void judge(const Shape& shape, const std::vector<SizeSample>& curve, Tally& tally) {
  bool here = false, other = false;
  for (const gradsync::Cliff& cliff : gradsync::test_for_cliffs(curve).proved) {
    const bool straddles = static_cast<double>(curve[cliff.before].bytes) < shape.cliff_at &&
                           static_cast<double>(curve[cliff.at].bytes) >= shape.cliff_at;
    (straddles ? here : other) = true;
  }
  tally.found += here ? 1 : 0;
  tally.elsewhere += other ? 1 : 0;
}

std::vector<SizeSample> empty_curve(int sizes) {
  std::vector<SizeSample> curve;
  for (int i = 0; i < sizes; ++i) curve.push_back({std::int64_t{1024} << i, {}});
  return curve;
}

Tally fixed(const Shape& shape, int sizes, double noise, int trials) {
  Tally tally;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<SizeSample> curve = empty_curve(sizes);
    Fabric(shape, noise, 1000003ULL * static_cast<std::uint64_t>(trial) + 17).repeat(curve, 10);
    judge(shape, curve, tally);
  }
  return tally;
}

Tally grown(const Shape& shape, int sizes, double noise, int trials) {
  Tally tally;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<SizeSample> curve = empty_curve(sizes);
    Fabric fabric(shape, noise, 1000003ULL * static_cast<std::uint64_t>(trial) + 17);
    std::size_t repeats = 10;
    bool open = true;
    for (; open; repeats = repeats * 3 / 2) {
      fabric.repeat(curve, repeats);
      open = !gradsync::sizes_to_repeat(curve).empty();
      if (!open || repeats * 3 / 2 > 50) break;
    }
    judge(shape, curve, tally);
    tally.undecided += open ? 1 : 0;
    tally.visible += gradsync::find_cliffs(curve).smallest_visible() / trials;
    tally.repeats += static_cast<double>(repeats) / trials;
  }
  return tally;
}

void print(int sizes, const Shape& shape, double noise, const Tally& tally, int trials) {
  const auto share = [trials](int count) { return static_cast<double>(count) / trials; };
  fmt::print("{:>5} {:<22} {:>5.2f} {:>7} {:>7} {:>12.4f}", sizes, shape.name, noise, trials,
             shape.cliff_at > 0 ? fmt::format("{:.3f}", share(tally.found)) : "-", share(tally.elsewhere));
  if (tally.repeats > 0)
    fmt::print(" {:>10.3f} {:>9.2f} {:>7.1f}", share(tally.undecided), tally.visible, tally.repeats);
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int grown_trials = argc > 2 ? std::atoi(argv[2]) : trials / 10;
  fmt::print("{:>5} {:<22} {:>5} {:>7} {:>7} {:>12} {:>10} {:>9} {:>7}\n", "sizes", "curve", "noise", "trials", "found",
             "false alarm", "undecided", "no cliff≥", "mean r");
  for (const int sizes : {11, 17})
    for (const Shape& shape : kShapes)
      for (const double noise : {0.03, 0.08, 0.15}) {
        print(sizes, shape, noise, fixed(shape, sizes, noise, trials), trials);
        if (grown_trials > 0) print(sizes, shape, noise, grown(shape, sizes, noise, grown_trials), grown_trials);
      }
}
