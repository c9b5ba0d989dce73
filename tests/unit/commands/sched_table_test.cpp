#include "src/commands/sched_table.h"

#include <doctest/doctest.h>

using namespace gradsync;

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

ThreadSeen busy() {
  ThreadSeen seen{unknown_wait("rank:70"), 2 * kSecond, unknown_wait("rank:70"), 3 * kSecond};
  ThreadWait& wait = seen.wait;
  wait.count = 40;
  wait.unseen = 0;
  wait.run_us = 500'000;
  wait.wait_us = 21'500;
  wait.mean_us = 100;
  wait.p50_us = 50;
  wait.p99_us = 1500;
  wait.max_us = 2000;
  wait.migrations = 6;
  wait.preempted_by = "hog:9";
  seen.preempted.count = 5;
  seen.preempted.p50_us = 3000;
  seen.preempted.p99_us = seen.preempted.max_us = 4000;
  return seen;
}

std::string line_of(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

TEST_CASE("the whole table of a trace") {
  CHECK(sched_table({WaitsKnown::all, {busy()}, kSecond}, 40) ==
        "                                             ----------------- after a wake-up ------------------"
        " ----------- after a preemption ------------\n"
        "Task                   Runtime ms    Wait ms Wakeups   Avg ms   p50 ms   p99 ms   Max ms     at s"
        " Preempt   p50 ms   p99 ms   Max ms     at s   Migr preempted by\n"
        "rank:70                   500.000     21.500      40    0.100    0.050    1.500    2.000    1.000"
        "       5    3.000    4.000    4.000    2.000      6 hog:9\n");
}

TEST_CASE("what a source cannot know has no column; what is not known of a thread is a dash") {
  const std::string records = sched_table({WaitsKnown::preemptions, {busy()}, kSecond}, 40);
  CHECK(records.find("Wakeups") == std::string::npos);
  CHECK(records.find("Avg") == std::string::npos);
  CHECK(line_of(records, "rank:70") ==
        "rank:70                   500.000     21.500       5    3.000    4.000    4.000    2.000      6 hog:9");
  ThreadSeen others = busy();
  others.preemptions_known = false;
  others.preempted = unknown_wait("");
  others.preempted_longest_at = 0;
  others.wait.preempted_by.clear();
  CHECK(line_of(sched_table({WaitsKnown::preemptions, {others}, kSecond}, 40), "rank:70") ==
        "rank:70                   500.000     21.500       -        -        -        -        -      6");
  const std::string sums = sched_table({WaitsKnown::sums, {others}, 0}, 40);
  CHECK(sums.starts_with("Task                   Runtime ms    Wait ms   Migr\n"));
}

TEST_CASE("a thread of which too many wake-ups are missing keeps its sums and loses its latencies") {
  ThreadSeen seen = busy();
  seen.wait.unseen = 10;
  CHECK(line_of(sched_table({WaitsKnown::all, {seen}, kSecond}, 40), "rank:70") ==
        "rank:70                   500.000     21.500      40        -        -        -        -        -"
        "       5    3.000    4.000    4.000    2.000      6 hog:9");
}

TEST_CASE("more threads than rows, and none at all") {
  CHECK(sched_table({WaitsKnown::all, {busy(), busy(), busy()}, 0}, 1).find("… and 2 more threads") !=
        std::string::npos);
  CHECK(sched_table({WaitsKnown::sums, {}, 0}, 1).find("no thread of it ran") != std::string::npos);
}

TEST_CASE("the lines below it: the tier, what forbids more and what helps; who else held the threads back") {
  Report report;
  report.coverage = {{"scheduler", "C", CoverageState::partial, "switch records", "run it as root", 0},
                     {"interrupts", "C", CoverageState::collected, "counts", "", 0},
                     {"scheduler delays", "", CoverageState::partial, "few wake-ups", "", 0}};
  report.facts = {{"sched.cross_check", "9.0 ms of waits traced"},
                  {"sched.quota", "group cpu/job was throttled"},
                  {"sched.stopped", "rank:70 was stopped by a signal"}};
  Metric steal;
  steal.name = "host.steal_percent";
  steal.scope = "all";
  steal.value = 12.5;
  report.metrics = {steal};
  CHECK(sched_notes(report) ==
        "scheduler (tier C): switch records\n  try: run it as root\nscheduler delays: few wake-ups\n"
        "cross-check: 9.0 ms of waits traced\nquota: group cpu/job was throttled\n"
        "stopped: rank:70 was stopped by a signal\nhost: steal 12.5 %\n");
  CHECK(sched_notes({}).empty());
}
