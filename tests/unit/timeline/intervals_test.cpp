#include "src/timeline/intervals.h"

#include <doctest/doctest.h>

#include <random>

using namespace gradsync;

namespace {

using Bits = std::vector<bool>;

IntervalSet random_set(std::mt19937& random) {
  std::vector<Interval> intervals;
  for (int i = 0; i < 6; ++i) {
    const Nanoseconds start = static_cast<Nanoseconds>(random() % 60);
    intervals.push_back({start, start + static_cast<Nanoseconds>(random() % 9)});
  }
  return IntervalSet(intervals);
}

Bits bits_of(const IntervalSet& set) {
  Bits bits(80);
  for (const Interval& interval : set.intervals())
    for (Nanoseconds t = interval.start; t < interval.end; ++t) bits[static_cast<std::size_t>(t)] = true;
  return bits;
}

}  // namespace

TEST_CASE("intervals are joined, sorted, and empty ones dropped") {
  const IntervalSet set({{5, 5}, {10, 20}, {0, 3}, {20, 25}, {2, 4}});
  CHECK(set.intervals() == std::vector<Interval>{{0, 4}, {10, 25}});
  CHECK(set.length() == 19);
}

TEST_CASE("the algebra agrees with sets of single nanoseconds") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const IntervalSet a = random_set(random), b = random_set(random);
    const Bits bits_a = bits_of(a), bits_b = bits_of(b);
    Bits both(80), either(80), only_a(80);
    for (std::size_t i = 0; i < 80; ++i) {
      both[i] = bits_a[i] && bits_b[i];
      either[i] = bits_a[i] || bits_b[i];
      only_a[i] = bits_a[i] && !bits_b[i];
    }
    CHECK(bits_of(intersect(a, b)) == both);
    CHECK(bits_of(unite(a, b)) == either);
    CHECK(bits_of(subtract(a, b)) == only_a);
    CHECK(unite(subtract(a, b), intersect(a, b)) == a);
  }
  CHECK(clip(IntervalSet({{0, 10}}), {4, 6}) == IntervalSet({{4, 6}}));
}
