#include "src/commands/measure_fabric.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace gradsync;
using std::chrono::milliseconds;

namespace {

// A fabric that takes 10 µs and 1 µs per KiB, on a clock of its own: each call takes a second of it.
class ScriptedSession final : public SweepSession {
 public:
  const FabricPlace& place() const override { return place_; }
  Facts facts() const override { return {{"backend", "scripted"}}; }
  bool can(FabricOperation operation, ElementType type) const override {
    return operation != FabricOperation::all_to_all && (has_halves || type != ElementType::float16);
  }
  Result<void> follow() override { return {}; }
  void end() override { ++ended; }

  Result<SweepMeasured> measure(const std::vector<SweepVisit>& visits) override {
    SweepMeasured measured;
    for (const SweepVisit& visit : visits) {
      if (calls == fails_at) return Error{"rank 1", "", "is gone", "", 3};
      if (calls == stops_at) {
        measured.interrupted = true;
        break;
      }
      ++calls;
      const auto bytes = static_cast<double>(visit.call.elements * size_of(visit.call.type));
      if (bytes >= slow_from_bytes) calls += 9;
      order.push_back(visit.call.elements);
      if (visit.call.type == ElementType::float16) ++halves[{visit.call.elements, visit.loaded}];
      SweepSample sample;
      sample.call = visit.call;
      sample.loaded = visit.loaded;
      sample.us = bytes >= slow_from_bytes ? 10e6 : 10 + bytes / 1024;
      sample.graph_us = sample.wrong = std::nan("");
      measured.samples.push_back(sample);
      loaded += visit.loaded ? 1 : 0;
    }
    return measured;
  }

  SweepClock clock() {
    return [this] { return milliseconds(calls * 1000); };
  }

  int calls = 0, loaded = 0, ended = 0, fails_at = -1, stops_at = -1;
  std::vector<std::int64_t> order;
  std::map<std::pair<std::int64_t, bool>, int> halves;  // elements, loaded: calls
  bool has_halves = true;
  double slow_from_bytes = INFINITY;  // here a call takes ten seconds

 private:
  FabricPlace place_{.rank = 0, .ranks = 2};
};

SweepTask task() {
  SweepTask task;
  task.operations = {FabricOperation::all_reduce};
  task.sizes = {1024, 2048, 4096, 8192};
  task.repeats = 10;
  task.max_ms = 1'000'000;
  return task;
}

std::map<std::int64_t, int> repeats_of(const SweptFabric& swept,
                                       const std::string& series = "sweep_samples.all_reduce") {
  std::map<std::int64_t, int> repeats;
  for (const auto& row : swept.series.at(series).rows) ++repeats[std::get<std::int64_t>(row[0])];
  return repeats;
}

}  // namespace

TEST_CASE("every size is visited as often as was asked, each round in another order, and the ranks are let go") {
  ScriptedSession session;
  const Result<SweptFabric> swept = measure_fabric(session, task(), {{}, session.clock(), {}});
  REQUIRE(swept);
  CHECK(repeats_of(*swept) == std::map<std::int64_t, int>{{1024, 10}, {2048, 10}, {4096, 10}, {8192, 10}});
  std::set<std::vector<std::int64_t>> orders;
  for (std::size_t round = 0; round < 10; ++round) {
    std::vector<std::int64_t> one(session.order.begin() + static_cast<std::ptrdiff_t>(round * 4),
                                  session.order.begin() + static_cast<std::ptrdiff_t>(round * 4 + 4));
    orders.insert(one);
    std::sort(one.begin(), one.end());
    CHECK(one == std::vector<std::int64_t>{256, 512, 1024, 2048});
  }
  CHECK(orders.size() > 3);
  CHECK(session.ended == 1);
  CHECK(swept->coverage.empty());

  ScriptedSession again;
  REQUIRE(measure_fabric(again, task(), {{}, again.clock(), {}}));
  CHECK(again.order == session.order);  // the order is the seed's
}

TEST_CASE("what is not decided is repeated until it is") {
  ScriptedSession session;
  const auto undecided = [](const SeriesSet& samples) -> std::vector<FabricCall> {
    const auto& rows = samples.at("sweep_samples.all_reduce").rows;
    const auto seen =
        std::count_if(rows.begin(), rows.end(), [](auto& row) { return std::get<std::int64_t>(row[0]) == 4096; });
    if (seen >= 20) return {};
    return {{FabricOperation::all_reduce, ElementType::float32, 1024}};
  };
  const Result<SweptFabric> swept = measure_fabric(session, task(), {undecided, session.clock(), {}});
  REQUIRE(swept);
  CHECK(repeats_of(*swept) == std::map<std::int64_t, int>{{1024, 10}, {2048, 10}, {4096, 22}, {8192, 10}});
}

TEST_CASE("the time ends the rounds, and the report says how many there were") {
  ScriptedSession session;
  SweepTask short_one = task();
  short_one.max_ms = 10'000;  // ten calls
  const Result<SweptFabric> swept = measure_fabric(session, short_one, {{}, session.clock(), {}});
  REQUIRE(swept);
  CHECK(session.calls == 10);
  REQUIRE(swept->coverage.size() == 1);
  CHECK(swept->coverage[0].reason == "2 of 10 rounds over all sizes are complete: the time of --max-time was up");

  ScriptedSession undecided_for_ever;
  SweepTask longer = task();
  longer.max_ms = 60'000;
  const auto everything = [](const SeriesSet&) -> std::vector<FabricCall> {
    return {{FabricOperation::all_reduce, ElementType::float32, 256}};
  };
  REQUIRE(measure_fabric(undecided_for_ever, longer, {everything, undecided_for_ever.clock(), {}}));
  CHECK(undecided_for_ever.calls == 60);
}

TEST_CASE("where the time is too short for the large messages, the small ones are completed in the last tenth of it") {
  ScriptedSession session;
  session.slow_from_bytes = 4096;
  SweepTask slow = task();
  slow.max_ms = 200'000;  // a round takes 22 s, so eight and a part until 180 s
  const Result<SweptFabric> swept = measure_fabric(session, slow, {{}, session.clock(), {}});
  REQUIRE(swept);
  const auto repeats = repeats_of(*swept);
  CHECK(repeats.at(1024) == 10);
  CHECK(repeats.at(2048) == 10);
  CHECK(repeats.at(4096) < 10);
  CHECK(repeats.at(8192) < 10);
  CHECK(session.calls < 200);
  CHECK(swept->coverage.at(0).reason.find(" of 10 rounds over all sizes are complete") != std::string::npos);
}

TEST_CASE("halves beside floats: in every third round, never beside a load, and not where the backend has none") {
  ScriptedSession session;
  SweepTask both = task();
  both.half_sizes = {1024, 4096};
  both.load = "busy";
  const Result<SweptFabric> swept = measure_fabric(session, both, {{}, session.clock(), {}});
  REQUIRE(swept);
  CHECK(session.halves == std::map<std::pair<std::int64_t, bool>, int>{{{512, false}, 4}, {{2048, false}, 4}});
  CHECK(swept->coverage.empty());
  ScriptedSession without;
  without.has_halves = false;
  REQUIRE(measure_fabric(without, both, {{}, without.clock(), {}}));
  CHECK(without.halves.empty());
}

TEST_CASE("stopped by the user, or left by a rank: what was measured is there") {
  ScriptedSession stopped;
  stopped.stops_at = 6;
  const Result<SweptFabric> part = measure_fabric(stopped, task(), {{}, stopped.clock(), {}});
  REQUIRE(part);
  CHECK(part->interrupted);
  CHECK(part->series.at("sweep_samples.all_reduce").rows.size() == 6);
  CHECK(part->coverage.at(0).reason == "1 of 10 rounds over all sizes are complete: it was stopped");
  CHECK(stopped.ended == 1);

  ScriptedSession left;
  left.fails_at = 8;
  const Result<SweptFabric> broken = measure_fabric(left, task(), {{}, left.clock(), {}});
  REQUIRE(broken);
  REQUIRE(broken->broken);
  CHECK(broken->broken->why == "is gone");
  CHECK(broken->series.at("sweep_samples.all_reduce").rows.size() == 8);

  ScriptedSession nothing;
  nothing.fails_at = 0;
  CHECK_FALSE(measure_fabric(nothing, task(), {{}, nothing.clock(), {}}));
  ScriptedSession at_once;
  at_once.stops_at = 0;
  CHECK(measure_fabric(at_once, task(), {{}, at_once.clock(), {}}).error().exit_status == 130);
}

TEST_CASE("an operation that the backend does not have is left out and named; with none left there is no sweep") {
  ScriptedSession session;
  SweepTask two = task();
  two.operations = {FabricOperation::all_to_all, FabricOperation::broadcast};
  const Result<SweptFabric> swept = measure_fabric(session, two, {{}, session.clock(), {}});
  REQUIRE(swept);
  CHECK(repeats_of(*swept, "sweep_samples.broadcast").size() == 4);
  CHECK(swept->coverage.at(0).source == "sweep of all_to_all");
  two.operations.pop_back();
  CHECK_FALSE(measure_fabric(session, two, {{}, session.clock(), {}}));
}

TEST_CASE("sizes that round up to the same vector are measured once") {
  ScriptedSession session;
  SweepTask tiny = task();
  tiny.operations = {FabricOperation::all_gather};
  tiny.sizes = {1, 2, 4, 8, 9, 16};
  const Result<SweptFabric> swept = measure_fabric(session, tiny, {{}, session.clock(), {}});
  REQUIRE(swept);
  CHECK(repeats_of(*swept, "sweep_samples.all_gather") == std::map<std::int64_t, int>{{8, 10}, {16, 10}});
}

TEST_CASE("with a load each round is made twice: idle, and beside it") {
  ScriptedSession session;
  SweepTask busy = task();
  busy.load = "busy";
  const Result<SweptFabric> swept = measure_fabric(session, busy, {{}, session.clock(), {}});
  REQUIRE(swept);
  const auto& rows = swept->series.at("sweep_samples.all_reduce").rows;
  CHECK(std::count_if(rows.begin(), rows.end(), [](auto& row) { return row.back() == Cell(std::string("busy")); }) ==
        40);
  CHECK(session.calls == 80);
  CHECK(session.loaded == 40);
}
