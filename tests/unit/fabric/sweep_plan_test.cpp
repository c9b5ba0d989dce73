#include "collectors/fabric/sweep_plan.h"

#include <doctest/doctest.h>

#include <map>

namespace gradsync {
namespace {

std::vector<std::int64_t> bytes_of(const SweepRequest& request) {
  const auto calls = plan_calls(request);
  REQUIRE(calls);
  std::vector<std::int64_t> bytes;
  for (const FabricCall& call : *calls) bytes.push_back(call.elements * size_of(call.type));
  return bytes;
}

std::string refusal(std::int64_t smallest, std::int64_t largest, std::vector<std::int64_t> extra = {}) {
  SweepRequest request;
  request.min_bytes = smallest;
  request.max_bytes = largest;
  request.extra_bytes = std::move(extra);
  const auto calls = plan_calls(request);
  return calls ? "accepted" : calls.error().message();
}

}  // namespace

TEST_CASE("sizes double from the smallest, with the job's own between them, each once") {
  CHECK(bytes_of({}).size() == 17);
  SweepRequest request;
  request.min_bytes = 1000;
  request.max_bytes = 7000;
  request.extra_bytes = {2500, 4000, 40};
  CHECK(bytes_of(request) == std::vector<std::int64_t>{40, 1000, 2000, 2500, 4000});
  request.operations = {FabricOperation::all_gather};
  request.ranks = 3;  // 10 and 250 elements do not cut in three
  CHECK(bytes_of(request) == std::vector<std::int64_t>{48, 1008, 2004, 2508, 4008});
}

TEST_CASE("sizes that are none are refused") {
  CHECK(refusal(4096, 1024) == "cannot sweep from 4096 to 1024: the smallest size is above the largest");
  CHECK(refusal(0, 1024) == "cannot sweep 0 bytes: a message has at least one");
  CHECK(refusal(1024, INT64_MAX) == "cannot sweep 9223372036854775807 bytes: the most is 1 TiB");
  CHECK(refusal(1, 1, {-5}) == "cannot sweep -5 bytes: a message has 1 byte to 1 TiB");
  CHECK(refusal(kMostSweepBytes, kMostSweepBytes) == "accepted");
}

TEST_CASE("what takes little is completed: the quickest calls whose missing repeats fit into the time") {
  const auto call = [](std::int64_t elements) {
    return FabricCall{FabricOperation::all_reduce, ElementType::float32, elements};
  };
  const auto sample = [&](std::int64_t elements, double us, bool loaded = false) {
    return SweepSample{call(elements), 0, us, 0, 0, 0, loaded};
  };
  const std::vector<FabricCall> calls{call(1), call(2), call(3), call(4), call(5)};
  // 1: complete. 2: two missing of 10 us each, with what warms them up 60. 3: never made, so 3 of 10: 90. 4: 3000. 5: more.
  const std::vector<SweepSample> made{sample(1, 10),       sample(1, 10),  sample(1, 10),  sample(2, 10),
                                      sample(2, 10, true), sample(4, 500), sample(5, 2000)};
  const auto elements = [&](double left_us) {
    std::vector<std::int64_t> fitting;
    for (const FabricCall& one : calls_that_fit(calls, made, 3, left_us)) fitting.push_back(one.elements);
    return fitting;
  };
  CHECK(elements(59).empty());
  CHECK(elements(149) == std::vector<std::int64_t>{2});
  CHECK(elements(150) == std::vector<std::int64_t>{2, 3});
  CHECK(elements(3150) == std::vector<std::int64_t>{2, 3, 4});
  CHECK(calls_that_fit(calls, made, 1, 1e9).size() == 1);
}

TEST_CASE("every round visits every call once, in another order, and repeats add up") {
  const auto calls = plan_calls({});
  REQUIRE(calls);
  const std::vector<SweepVisit> visits = plan_visits(*calls, {10, 4, true, 7});
  REQUIRE(visits.size() == 4 * calls->size());
  std::map<std::int64_t, int> repeats;
  std::vector<std::vector<std::int64_t>> orders(4);
  for (std::size_t index = 0; index < visits.size(); ++index) {
    CHECK(visits[index].loaded);
    repeats[visits[index].call.elements] += visits[index].repeats;
    orders[index / calls->size()].push_back(visits[index].call.elements);
  }
  for (const auto& [elements, count] : repeats) CHECK(count == 10);
  CHECK(repeats.size() == calls->size());
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
}

TEST_CASE("the same seed gives the same order, and fewer repeats than rounds leave no empty visit") {
  const auto calls = plan_calls({});
  REQUIRE(calls);
  const auto order_of = [&](std::uint64_t seed) {
    std::vector<std::int64_t> order;
    for (const SweepVisit& visit : plan_visits(*calls, {2, 5, false, seed})) {
      CHECK(visit.repeats == 1);
      order.push_back(visit.call.elements);
    }
    return order;
  };
  CHECK(order_of(1).size() == 2 * calls->size());
  CHECK(order_of(1) == order_of(1));
  CHECK(order_of(1) != order_of(2));
}

}  // namespace gradsync
