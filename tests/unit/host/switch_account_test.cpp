#include "collectors/host/switch_account.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace gradsync;

namespace {

constexpr Nanoseconds kUs = 1000;
using Went = SwitchRecord::Kind;

SwitchAccount account(std::initializer_list<SwitchRecord> records) {
  SwitchAccount made;
  made.rename(70, "rank");
  made.rename(71, "loader");
  for (const SwitchRecord& record : records) made.add(record);
  return made;
}

}  // namespace

TEST_CASE("a preempted thread waits until it is back, wherever; whoever slept does not wait") {
  const SwitchAccount seen = account({{0, 7, 70, 0, Went::in},
                                      {1000 * kUs, 7, 70, 0, Went::preempted},
                                      {1400 * kUs, 7, 70, 1, Went::in},  // 400 µs, on another CPU
                                      {2000 * kUs, 7, 70, 1, Went::out},
                                      {9000 * kUs, 7, 70, 1, Went::in},  // slept: the wake-up is not known
                                      {9500 * kUs, 7, 70, 1, Went::preempted},
                                      {9520 * kUs, 7, 70, 1, Went::in}});  // 20 µs: counted, and not held
  const ThreadPreemptions& thread = seen.threads().at(70);
  CHECK(thread.waits_us == std::vector<float>{400, 20});
  CHECK(thread.longest == 400 * kUs);
  CHECK(thread.longest_at == 1400 * kUs);
  REQUIRE(seen.held_up().size() == 1);
  const HeldUp held = seen.held_up().front();
  CHECK(held.thread == "rank");
  CHECK(held.by == SwitchAccount::kOthers);
  CHECK(held.cpu == 1);
  CHECK(held.start == 1000 * kUs);
  CHECK(held.end == 1400 * kUs);
}

TEST_CASE("a thread of the job that came instead is named, in the series too") {
  const SwitchAccount seen = account({{1000 * kUs, 7, 70, 0, Went::preempted},
                                      {1001 * kUs, 7, 71, 0, Went::in},
                                      {3000 * kUs, 7, 71, 0, Went::preempted},
                                      {3001 * kUs, 7, 70, 0, Went::in},
                                      {5000 * kUs, 7, 71, 0, Went::in}});
  REQUIRE(seen.held_up().size() == 2);
  CHECK(seen.held_up()[0].by == "loader:71");
  CHECK(seen.held_up()[1].by == "rank:70");
  const Series series = seen.series(0);
  REQUIRE(series.rows.size() == 2);
  CHECK(std::get<std::string>(series.rows[0][0]) == "rank:70");
  CHECK(std::get<std::string>(series.rows[0][8]) == "loader:71");
  CHECK(std::get<double>(series.rows[0][6]) == doctest::Approx(2001));
  CHECK(std::get<double>(series.rows[0][7]) == doctest::Approx(3.001e-3));
}

TEST_CASE("no wait spans lost records, and none began before the first") {
  SwitchAccount seen = account({{500 * kUs, 7, 71, 1, Went::in}, {1000 * kUs, 7, 70, 0, Went::preempted}});
  seen.lose_sight();
  seen.add({9000 * kUs, 7, 70, 0, Went::in});
  CHECK(seen.threads().empty());
  CHECK(seen.name_of(99) == "?:99");
  seen.born(99, 98);
  seen.born(98, 70);
  CHECK(seen.name_of(99) == "rank:99");
  seen.rename(99, "loader");
  CHECK(seen.name_of(99) == "loader:99");
}

TEST_CASE("beside the sums of /proc: by thread number; whoever ended between two looks comes last") {
  const SwitchAccount seen = account({{1000 * kUs, 7, 70, 0, Went::preempted},
                                      {1001 * kUs, 7, 71, 0, Went::in},
                                      {3000 * kUs, 7, 71, 0, Went::preempted},
                                      {3001 * kUs, 7, 70, 0, Went::in},
                                      {5000 * kUs, 7, 71, 0, Went::in}});
  ThreadWait rank = unknown_wait("rank:70"), sleeper = unknown_wait("sleeper:72");
  rank.tid = 70;
  rank.wait_us = 9000;
  sleeper.tid = 72;
  const std::vector<ThreadSeen> threads = seen.beside({rank, sleeper});
  REQUIRE(threads.size() == 3);
  CHECK(threads[0].wait.wait_us == 9000);
  CHECK(threads[0].wait.preempted_by == "loader:71");
  CHECK(threads[0].preempted.count == 1);
  CHECK(threads[0].preempted.max_us == doctest::Approx(2001));
  CHECK(threads[0].preempted_longest_at == 3001 * kUs);
  CHECK(threads[1].wait.thread == "sleeper:72");
  CHECK(threads[1].preempted.count == 0);
  CHECK(std::isnan(threads[1].preempted.max_us));
  CHECK(threads[2].wait.thread == "loader:71");
  CHECK(std::isnan(threads[2].wait.run_us));
}
