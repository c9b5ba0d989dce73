// The recursion against the closed forms at their limits, the replay against the recursion, and plans for buckets.
#include "analyzers/predict/bucket_recursion.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "analyzers/closed_form.h"
#include "analyzers/predict/bucket_plan.h"
#include "analyzers/predict/step_graph.h"

namespace gradsync {
namespace {

std::vector<BucketTimes> even(int buckets, double backward, BucketTimes each) {
  std::vector<BucketTimes> all;
  for (int i = 1; i <= buckets; ++i) {
    each.ready = backward * i / buckets;
    all.push_back(each);
  }
  return all;
}

StepGraph graph_of(const std::vector<BucketTimes>& buckets, double backward) {
  StepGraph graph;
  double before = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    ClassTimes ns{};
    ns[static_cast<std::size_t>(StepClass::compute)] = buckets[i].ready - before;
    ns[static_cast<std::size_t>(StepClass::compress)] = buckets[i].compress;
    graph.stages.push_back({ns, {AnchorKind::issue, static_cast<std::int64_t>(i)}});
    Exchange exchange{.operation = "all_reduce", .group = "g", .bytes = 1};
    exchange.transfer_ns = buckets[i].transfer;
    exchange.decode_ns = buckets[i].decompress;
    graph.exchanges.push_back(exchange);
    before = buckets[i].ready;
  }
  ClassTimes rest{};
  rest[static_cast<std::size_t>(StepClass::compute)] = backward - before;
  graph.stages.push_back({rest, {AnchorKind::join, static_cast<std::int64_t>(buckets.size()) - 1}});
  graph.stages.push_back({{}, {AnchorKind::end, -1}});
  return graph;
}

}  // namespace

TEST_CASE("slow links: every bucket waits for the one before, and the first for its gradients") {
  // max(γ T, (k-1) T_comm) + T_comm with (k-1) T_comm ≫ γ T
  const auto buckets = even(4, 10, {.transfer = 100});
  CHECK(bucket_recursion(buckets, 10).sync == doctest::Approx(2.5 + 4 * 100));
}

TEST_CASE("fast links: only the last bucket is exposed") {
  const auto buckets = even(10, 100, {.transfer = 3});
  CHECK(bucket_recursion(buckets, 100).sync == doctest::Approx(100 + 3));
  CHECK(bucket_recursion(buckets, 100).exposed == doctest::Approx(3));
}

TEST_CASE("compression that nothing overlaps: computing, coding and the small message add up") {
  const std::vector<BucketTimes> one{{.ready = 100, .compress = 8, .decompress = 4, .transfer = 6}};
  CHECK(bucket_recursion(one, 100).sync == 118);
  CHECK(serial_sync(one, 100, 0).sync == 118);
  CHECK(serial_sync(one, 100, 50).exposed == 68);  // the framework's own all-reduce still runs
}

TEST_CASE("compression delays backward, a blocked host delays what follows, decoding runs in order") {
  const std::vector<BucketTimes> two{{.ready = 50, .compress = 5, .decompress = 20, .starve = 2, .transfer = 10},
                                     {.ready = 100, .compress = 5, .decompress = 20, .transfer = 10}};
  // ready at 55 and 112; sent at 65 and 122; decoded at 85 and 142
  CHECK(bucket_recursion(two, 100).sync == 142);
}

TEST_CASE("at least the last bucket is exposed, whatever else") {
  std::mt19937_64 random(7);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int trial = 0; trial < 200; ++trial) {
    const double backward = 100 * (1 + uniform());  // on the clock that communication slows down
    std::vector<BucketTimes> buckets;
    for (double ready = 0; buckets.size() < 6;)
      buckets.push_back({.ready = ready += backward / 6 * uniform(), .transfer = 50 * uniform()});
    buckets.back().ready = backward;
    CHECK(bucket_recursion(buckets, backward).exposed >= buckets.back().transfer - 1e-9);
  }
}

TEST_CASE("replaying a graph gives what the recursion gives") {
  std::mt19937_64 random(11);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<BucketTimes> buckets;
    for (double ready = 0; buckets.size() < 5;)
      buckets.push_back({.ready = ready += 20 * uniform(),
                         .compress = 5 * uniform(),
                         .decompress = 5 * uniform(),
                         .transfer = 40 * uniform()});
    const double backward = buckets.back().ready + 3;
    CHECK(replay(graph_of(buckets, backward)).step_ns ==
          doctest::Approx(bucket_recursion(buckets, backward).sync).epsilon(1e-12));
  }
}

TEST_CASE("bandwidth below which compression pays") {
  // 98 of 100 MB saved for 10 ms: 9.8 GB/s
  CHECK(break_even_bandwidth(100e6, 2e6, 10'000, 0) == doctest::Approx(9800));
  CHECK(break_even_bandwidth(100e6, 2e6, 10'000, 4'000) == doctest::Approx(7000));
  CHECK(std::isinf(break_even_bandwidth(100e6, 2e6, 10, -20)));
  CHECK(break_even_bandwidth(2e6, 4e6, 10, 0) == 0);  // sends more than before
}

TEST_CASE("two levels: rings inside the node, one message between nodes whatever the GPUs of a node") {
  const double n = 25.557e6, half = 2 * n;
  TwoLevel fabric{8, 2, 3, 1e-3 / 230, 5, 1e-3 / 11};
  const double inside = ring_all_reduce_us({3, 1e-3 / 230}, half, 8);  // scatter and gather are one all-reduce
  CHECK(two_level_time(fabric, half, n / 8, 0) == doctest::Approx(inside + 5 + n / 8 * 1e-3 / 11));
  CHECK(two_level_time(fabric, half, n / 8, 700) - two_level_time(fabric, half, n / 8, 0) == doctest::Approx(700));
}

TEST_CASE("a plan compresses what is exposed, and leaves hidden buckets as they are") {
  const auto bucket = [](double ready) { return PlannedBucket{ready, {{"dense", 0, 30, 0}, {"fp16", 1, 15, 1}}}; };
  // Far apart: the first two hide behind backward, the last is exposed.
  const std::vector<PlannedBucket> apart{bucket(100), bucket(200), bucket(300)};
  CHECK(plan_buckets(apart, 300, 0.5) == std::vector<std::size_t>{0, 0, 1});
  // A queue: all of it counts.
  const std::vector<PlannedBucket> queue{bucket(1), bucket(2), bucket(3)};
  CHECK(plan_buckets(queue, 3, 0.5) == std::vector<std::size_t>{1, 1, 1});
  // Coding that costs more than it saves.
  const std::vector<PlannedBucket> dear{{10, {{"dense", 0, 30, 0}, {"fp16", 20, 15, 1}}}};
  CHECK(plan_buckets(dear, 10, 0.5) == std::vector<std::size_t>{0});
}

}  // namespace gradsync
