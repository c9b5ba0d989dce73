#include "collectors/fabric/sweep_session.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "collectors/fabric/meeting.h"

namespace gradsync {
namespace {

constexpr FabricCall kSmall{FabricOperation::all_reduce, ElementType::float32, 256};
constexpr FabricCall kLarge{FabricOperation::all_reduce, ElementType::float32, 4096};

// Moves nothing: says that a call took (rank + 1) × 10 µs, and what else a test plants.
struct Planted {
  std::int64_t wrong = 0;
  int fails_at = -1;  // the call with this number, from 0
  std::function<void()> in_call;
  std::optional<double> device_us;
};

class TestBackend final : public FabricBackend {
 public:
  TestBackend(int rank, Planted planted) : rank_(rank), planted_(std::move(planted)) {}
  std::string name() const override { return "test"; }
  bool can(FabricOperation operation, ElementType) const override { return operation != FabricOperation::broadcast; }
  Result<void> connect(const FabricPlace&, RankStore&) override { return {}; }
  Facts facts() const override { return {{"interface", "none"}}; }
  Result<void> prepare(const FabricCall&) override { return {}; }
  Result<FabricTiming> run() override {
    if (calls_++ == planted_.fails_at) return Error{"broken", "cable", "", "", 3};
    if (planted_.in_call) planted_.in_call();
    const std::int64_t now = monotonic_ns();
    return FabricTiming{now, now + (rank_ + 1) * 10'000, planted_.device_us, std::nullopt};
  }
  Result<std::int64_t> count_wrong() override { return planted_.wrong; }

 private:
  int rank_;
  Planted planted_;
  int calls_ = 0;
};

class TestLoad final : public BackgroundLoad {
 public:
  std::string name() const override { return "test"; }
  Result<void> start() override {
    log += "+";
    return {};
  }
  void stop() override { log += "-"; }
  std::string log;
};

// Two ranks as threads: the leader is this one.
struct Pair {
  Pair(const Planted& of_leader, const Planted& of_follower) {
    Result<Listener> listener = listen_on(ListenOn::loopback, 0);
    REQUIRE(listener);
    auto server = std::make_unique<StoreServer>(std::move(*listener), StoreAgreement{2, "", "", ""});
    const int port = server->port();
    follower_ = std::thread([this, port, of_follower] {
      const Result<void> followed = session(1, port, of_follower, nullptr)->follow();
      said = followed ? "" : followed.error().message();
    });
    leader = session(0, port, of_leader, std::move(server));
  }
  ~Pair() { wait(); }

  void wait() {
    if (leader) leader->end();
    if (follower_.joinable()) follower_.join();
  }

  std::unique_ptr<SweepSession> session(int rank, int port, const Planted& planted,
                                        std::unique_ptr<StoreServer> server) {
    SessionParts parts;
    parts.ranks.server = std::move(server);
    Result<std::unique_ptr<TcpStore>> store = TcpStore::join({"127.0.0.1", port, rank, 2, "", "", "", "", 5000});
    parts.ranks.store = std::move(*store);
    parts.ranks.place.rank = rank;
    parts.ranks.place.ranks = 2;
    parts.backend = std::make_unique<TestBackend>(rank, planted);
    parts.start.timeout_ms = 5000;
    parts.start.stop = &stop[static_cast<std::size_t>(rank)];
    parts.start.load = &loads[static_cast<std::size_t>(rank)];
    return make_sweep_session(std::move(parts));
  }

  std::unique_ptr<SweepSession> leader;
  std::string said;  // by the follower's follow(); empty: it ended well
  std::array<std::atomic<bool>, 2> stop{};
  std::array<TestLoad, 2> loads;

 private:
  std::thread follower_;
};

std::vector<SweepSample> measured(SweepSession& session, const std::vector<SweepVisit>& visits) {
  const Result<SweepMeasured> result = session.measure(visits);
  REQUIRE_MESSAGE(result, (result ? "" : result.error().message()));
  CHECK(!result->interrupted);
  return result->samples;
}

}  // namespace

TEST_CASE("a call's time is the longest of the ranks', and repeats are counted over all visits") {
  Pair pair({}, {});
  CHECK(measured(*pair.leader, {{kSmall, 2, false}, {kLarge, 1, false}, {kSmall, 1, false}}).size() == 4);
  const std::vector<SweepSample> samples = measured(*pair.leader, {{kSmall, 2, false}, {kLarge, 1, true}});
  REQUIRE(samples.size() == 3);
  CHECK(samples[0].repeat == 3);
  CHECK(samples[1].repeat == 4);
  CHECK(samples[2].repeat == 0);  // beside the load it is another call
  for (const SweepSample& sample : samples) {
    CHECK(sample.us == 20);
    CHECK(sample.skew_us >= 0);
    CHECK(std::isnan(sample.graph_us));
  }
  pair.wait();
  CHECK(pair.said.empty());
}

TEST_CASE("where the device measures itself its time counts") {
  Planted leader, follower;
  leader.device_us = 7.5;
  follower.device_us = 3;
  Pair pair(leader, follower);
  CHECK(measured(*pair.leader, {{kSmall, 1, false}})[0].us == 7.5);
}

TEST_CASE("wrong elements are counted over all ranks, once a visit") {
  Planted leader, follower;
  leader.wrong = 2;
  follower.wrong = 40;
  Pair pair(leader, follower);
  const std::vector<SweepSample> samples = measured(*pair.leader, {{kSmall, 3, false}, {kLarge, 1, false}});
  REQUIRE(samples.size() == 4);
  CHECK(std::isnan(samples[0].wrong));
  CHECK(std::isnan(samples[1].wrong));
  CHECK(samples[2].wrong == 42);
  CHECK(samples[3].wrong == 42);
}

TEST_CASE("an error of one rank is every rank's, with its name") {
  Planted follower;
  follower.fails_at = 9;
  Pair pair({}, follower);
  const Result<SweepMeasured> result = pair.leader->measure({{kSmall, 20, false}});
  REQUIRE(!result);
  CHECK(result.error().message() == "the sweep ended because of rank 1: broken cable");
  pair.wait();
  CHECK(pair.said == "broken cable");
}

TEST_CASE("Ctrl-C in any rank ends the measurement between two calls, and what was measured stays") {
  for (const std::size_t interrupted : {0U, 1U}) {
    CAPTURE(interrupted);
    Pair* both = nullptr;
    int calls = 0;
    Planted planted;
    planted.in_call = [&] {
      if (++calls == 12) both->stop[interrupted] = true;
    };
    Pair pair(interrupted == 0 ? planted : Planted(), interrupted == 1 ? planted : Planted());
    both = &pair;
    const Result<SweepMeasured> result = pair.leader->measure({{kSmall, 100, false}});
    REQUIRE(result);
    CHECK(result->interrupted);
    CHECK(result->samples.size() == 6);  // six were to warm up
    pair.wait();
    CHECK(pair.said.empty());
  }
}

TEST_CASE("the load runs in every rank for the visits that want it, and not after them") {
  Pair pair({}, {});
  measured(*pair.leader,
           {{kSmall, 1, false}, {kSmall, 1, true}, {kLarge, 1, true}, {kSmall, 1, false}, {kSmall, 1, true}});
  pair.wait();
  CHECK(pair.loads[0].log == "+-+-");
  CHECK(pair.loads[1].log == "+-+-");
}

TEST_CASE("facts of the ranks and of the backend") {
  Pair pair({}, {});
  const Facts facts = pair.leader->facts();
  CHECK(facts.at("backend") == "test");
  CHECK(facts.at("interface") == "none");
  CHECK(facts.at("ranks") == "2");
  CHECK(facts.at("hosts") == "1");
  CHECK(facts.at("clocks") == "shared");
  CHECK(!pair.leader->can(FabricOperation::broadcast, ElementType::int8));
}

TEST_CASE("samples become one series an operation") {
  SweepSample sample;
  sample.call = {FabricOperation::all_gather, ElementType::float16, 512};
  sample.repeat = 4;
  sample.us = 21.5;
  sample.skew_us = 0.25;
  sample.graph_us = sample.wrong = std::nan("");
  sample.loaded = true;
  SeriesSet series;
  add_samples({sample}, series, "topk");
  sample.loaded = false;
  sample.wrong = 3;
  add_samples({sample}, series, "topk");
  const Series& table = series.at("sweep_samples.all_gather");
  CHECK(table.columns ==
        std::vector<std::string>{"bytes", "repeat", "us", "type", "count", "skew_us", "graph_us", "wrong", "load"});
  REQUIRE(table.rows.size() == 2);
  const auto& first = table.rows[0];
  CHECK(first[0] == Cell(std::int64_t{1024}));
  CHECK(first[1] == Cell(std::int64_t{4}));
  CHECK(first[2] == Cell(21.5));
  CHECK(first[3] == Cell(std::string("half")));
  CHECK(first[4] == Cell(std::int64_t{512}));
  CHECK(std::isnan(std::get<double>(first[6])));
  CHECK(first[8] == Cell(std::string("topk")));
  CHECK(table.rows[1][7] == Cell(3.0));
  CHECK(table.rows[1][8] == Cell(std::string()));
}

}  // namespace gradsync
