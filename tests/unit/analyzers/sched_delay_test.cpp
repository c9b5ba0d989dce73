#include <doctest/doctest.h>

#include <limits>

#include "analyzers/analyzers.h"

using namespace gradsync;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A row of the series, in its columns' order.
struct Row {
  std::string thread;
  std::int64_t count;
  double p99_us, max_us, wait_us, run_us, unseen;
};

Conclusions conclude(const std::vector<Row>& rows) {
  Inputs inputs;
  Series& series = inputs.series["sched"];
  series = {
      "sched", {"thread", "count", "p99_us", "max_us", "preempted_by", "wait_us", "run_us", "unseen", "source"}, {}};
  for (const Row& r : rows)
    series.rows.push_back(
        {r.thread, r.count, r.p99_us, r.max_us, "hog:9", r.wait_us, r.run_us, r.unseen, "perf script"});
  Conclusions conclusions;
  make_sched_delay()->conclude({}, inputs, conclusions);
  return conclusions;
}

}  // namespace

TEST_CASE("delays per thread, the worst of them, and the share of busy threads") {
  const Conclusions found = conclude({{"a:1", 100, 2000, 36000, 300'000, 700'000, 0},
                                      {"b:2", 400, 50, 90, 100'000, 900'000, 0},
                                      {"seldom:3", 30, 12000, 13000, 4'000, 100, 0}});
  const auto value = [&](const char* name, const char* scope) { return found.metrics.value(name, scope); };
  CHECK(*value("sched.delay_p99_ms", "thread:a:1") == doctest::Approx(2));
  CHECK(*value("sched.delay_max_ms", "thread:a:1") == doctest::Approx(36));
  CHECK(*value("sched.wait_share_percent", "thread:a:1") == doctest::Approx(30));
  CHECK(*value("sched.delay_p99_ms", "all") == doctest::Approx(12));
  CHECK(*value("sched.delay_max_ms", "all") == doctest::Approx(36));
  CHECK(*value("sched.wait_share_percent", "all") == doctest::Approx(20));  // without the one that seldom ran
  CHECK(found.metrics.find("sched.delay_p99_ms", "thread:a:1")->n == 100);
  CHECK(found.facts.at("sched.longest_delay") == "a:1 waited 36.0 ms for a CPU, at most");
  CHECK(found.facts.at("sched.longest_wait") == "a:1 waited 300.0 ms and ran 700.0 ms, preempted by hog:9");
  CHECK(found.coverage.empty());
}

TEST_CASE("what the source does not know stays unknown") {
  const Conclusions table = conclude({{"a:1", 400, kNaN, 36000, 300'000, 700'000, kNaN}});  // perf sched latency
  CHECK_FALSE(table.metrics.value("sched.delay_p99_ms", "all"));
  CHECK(*table.metrics.value("sched.delay_max_ms", "all") == doctest::Approx(36));
  const Conclusions timehist = conclude({{"a:1", 400, 100, 200, kNaN, 700'000, kNaN}});
  CHECK_FALSE(timehist.metrics.value("sched.wait_share_percent", "all"));
  const Conclusions few = conclude({{"a:1", 19, 100, 200, 300, 700, 0}});  // a quantile of 1 % needs more
  CHECK_FALSE(few.metrics.value("sched.delay_p99_ms", "all"));
  CHECK_FALSE(few.metrics.value("sched.wait_share_percent", "all"));
  Conclusions nothing;
  make_sched_delay()->conclude({}, {}, nothing);
  CHECK(nothing.metrics.all().empty());
}

TEST_CASE("delays of a record that lacks wake-ups are not reported, and that is said") {
  const Conclusions found = conclude({{"a:1", 80, 100, 200, 300'000, 700'000, 20}});
  CHECK_FALSE(found.metrics.value("sched.delay_p99_ms", "all"));
  CHECK_FALSE(found.metrics.value("sched.delay_max_ms", "thread:a:1"));
  REQUIRE(found.coverage.size() == 1);
  CHECK(found.coverage[0].source == "scheduler delays");
  CHECK(found.coverage[0].reason == "the wake-ups of only 80 % of the runs were seen: delays are not reported");
}

TEST_CASE("one thread in two files: the row that knows its quantiles") {
  for (const bool swapped : {false, true}) {
    std::vector<Row> rows{{"a:1", 400, kNaN, 36000, 300'000, 700'000, kNaN}, {"a:1", 100, 2000, 3000, kNaN, kNaN, 0}};
    if (swapped) std::swap(rows[0], rows[1]);
    CHECK(*conclude(rows).metrics.value("sched.delay_p99_ms", "thread:a:1") == doctest::Approx(2));
  }
}
