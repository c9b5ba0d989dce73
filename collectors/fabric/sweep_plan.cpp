#include "collectors/fabric/sweep_plan.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/statistics.h"
#include "src/base/units.h"

namespace gradsync {
namespace {

using CallKey = std::tuple<FabricOperation, ElementType, std::int64_t>;

CallKey key_of(const FabricCall& call) { return {call.operation, call.type, call.elements}; }

Error refused(std::int64_t bytes, const char* why) {
  return Error{"cannot sweep", std::to_string(bytes) + " bytes", why, "", 2};
}

// std::shuffle may differ between libraries; a plan is to be the same everywhere.
template <class T>
void shuffle(std::vector<T>& values, std::mt19937_64& random) {
  for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[random() % left]);
}

}  // namespace

Result<std::vector<FabricCall>> plan_calls(const SweepRequest& request) {
  if (request.min_bytes > request.max_bytes)
    return Error{"cannot sweep from", std::to_string(request.min_bytes) + " to " + std::to_string(request.max_bytes),
                 "the smallest size is above the largest", "--min below --max", 2};
  if (request.min_bytes < 1) return refused(request.min_bytes, "a message has at least one");
  if (request.max_bytes > kMostSweepBytes) return refused(request.max_bytes, "the most is 1 TiB");
  std::vector<std::int64_t> sizes = request.extra_bytes;
  for (std::int64_t bytes = request.min_bytes; bytes <= request.max_bytes; bytes *= 2) sizes.push_back(bytes);
  std::vector<FabricCall> calls;
  for (const FabricOperation operation : request.operations) {
    std::set<std::int64_t> elements;
    for (const std::int64_t bytes : sizes) {
      if (bytes < 1 || bytes > kMostSweepBytes) return refused(bytes, "a message has 1 byte to 1 TiB");
      elements.insert(elements_of(operation, request.type, bytes, request.ranks));
    }
    for (const std::int64_t count : elements) calls.push_back({operation, request.type, count});
  }
  return calls;
}

std::vector<FabricCall> calls_that_fit(const std::vector<FabricCall>& calls, const std::vector<SweepSample>& made,
                                       int repeats, double left_us) {
  constexpr int kCallsOfVisit = 3;  // the timed one and those that warm it up
  std::map<CallKey, std::vector<double>> times;
  for (const SweepSample& sample : made)
    if (!sample.loaded) times[key_of(sample.call)].push_back(sample.us);
  struct Missing {
    FabricCall call;
    double us = 0;  // of one repeat
    int repeats = 0;
  };
  std::vector<Missing> missing;
  double us = 0;
  for (const FabricCall& call : calls) {
    const auto found = times.find(key_of(call));
    const int left = repeats - (found == times.end() ? 0 : static_cast<int>(found->second.size()));
    if (found != times.end()) us = *median(found->second);
    if (left > 0) missing.push_back({call, kCallsOfVisit * us, left});
  }
  std::stable_sort(missing.begin(), missing.end(), [](const Missing& a, const Missing& b) { return a.us < b.us; });
  std::vector<FabricCall> fitting;
  for (const Missing& one : missing) {
    left_us -= one.us * one.repeats;
    if (left_us < 0) break;
    fitting.push_back(one.call);
  }
  return fitting;
}

std::vector<SweepVisit> plan_visits(const std::vector<FabricCall>& calls, const VisitOrder& order) {
  std::mt19937_64 random(order.seed);
  std::vector<SweepVisit> visits;
  const int rounds = std::clamp(order.rounds, 1, std::max(order.repeats, 1));
  for (int round = 0; round < rounds; ++round) {
    // 10 repeats in 4 rounds: 3 3 2 2
    const int repeats = order.repeats / rounds + (round < order.repeats % rounds ? 1 : 0);
    std::vector<FabricCall> shuffled = calls;
    shuffle(shuffled, random);
    for (const FabricCall& call : shuffled)
      if (repeats > 0) visits.push_back({call, repeats, order.loaded});
  }
  return visits;
}

}  // namespace gradsync
