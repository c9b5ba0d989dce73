#include "src/hosttext/thread_waits.h"

#include <doctest/doctest.h>

#include <cmath>

namespace gradsync {
namespace {

constexpr bool kRunnable = true, kSleeps = false;

SchedSwitch change(std::int64_t from, std::int64_t to, bool from_runnable, int cpu = 0) {
  SchedSwitch change;
  change.from = from;
  change.to = to;
  change.from_name = from == 0 ? "swapper/0" : "t";
  change.to_name = to == 0 ? "swapper/0" : "t";
  change.from_runnable = from_runnable;
  change.cpu = cpu;
  return change;
}

ThreadWait of(const ThreadWaits& waits, const std::string& thread) {
  for (const ThreadWait& wait : waits.all())
    if (wait.thread == thread) return wait;
  FAIL("no thread " << thread);
  return unknown_wait("");
}

}  // namespace

TEST_CASE("from a wake-up to the run, by the first of sched_waking and sched_wakeup") {
  ThreadWaits waits;
  waits.wakeup(1'000'000, 7, "t");
  waits.wakeup(1'010'000, 7, "t");
  waits.switched(1'250'000, change(0, 7, kSleeps));
  waits.switched(2'250'000, change(7, 0, kSleeps));
  const ThreadWait t = of(waits, "t:7");
  CHECK(t.count == 1);
  CHECK(t.max_us == doctest::Approx(250));
  CHECK(t.wait_us == doctest::Approx(250));
  CHECK(t.run_us == doctest::Approx(1000));
  CHECK(t.migrations == 0);
  CHECK(waits.unfinished() == 0);
}

TEST_CASE("a preempted thread waits for whoever was put in its place; that is no wake-up delay") {
  ThreadWaits waits;
  waits.switched(1'000'000, change(0, 7, kSleeps));
  waits.switched(2'000'000, change(7, 8, kRunnable));
  waits.switched(6'000'000, change(8, 7, kRunnable, 1));  // and comes back on another CPU
  waits.switched(6'500'000, change(7, 0, kSleeps, 1));
  const ThreadWait t = of(waits, "t:7");
  CHECK(t.count == 0);
  CHECK(std::isnan(t.p99_us));
  CHECK(std::isnan(t.max_us));
  CHECK(t.wait_us == doctest::Approx(4000));
  CHECK(t.preempted_by == "t:8");
  CHECK(t.migrations == 1);
}

TEST_CASE("a run without a wake-up in the text is counted, and no delay is made up") {
  ThreadWaits waits;
  waits.switched(1'000'000, change(7, 0, kSleeps));
  waits.switched(9'000'000, change(0, 7, kSleeps));
  CHECK(of(waits, "t:7").count == 0);
  CHECK(of(waits, "t:7").unseen == 1);
  CHECK(waits.unseen() == 1);
  CHECK(waits.edges() == 1);  // it ran when the text began
}

TEST_CASE("a wake-up of a running thread is none of a later sleep") {
  ThreadWaits waits;
  waits.switched(1'000'000, change(0, 7, kSleeps));
  waits.wakeup(1'100'000, 7, "t");                   // kept it from sleeping
  waits.switched(5'000'000, change(7, 0, kSleeps));  // much later it sleeps
  waits.wakeup(9'000'000, 7, "t");
  waits.switched(9'020'000, change(0, 7, kSleeps));
  CHECK(of(waits, "t:7").max_us == doctest::Approx(20));
}

TEST_CASE("a wake-up on another CPU that overtakes the switch to sleep") {
  ThreadWaits waits;
  waits.switched(1'000'000, change(0, 7, kSleeps));
  waits.wakeup(1'100'000, 7, "t");
  waits.switched(1'101'000, change(7, 0, kSleeps));
  waits.switched(1'131'000, change(0, 7, kSleeps));
  CHECK(of(waits, "t:7").max_us == doctest::Approx(30));  // since it was off its CPU
  CHECK(waits.unseen() == 0);
}

TEST_CASE("who is on a CPU was not waiting for one, whatever woke it before") {
  ThreadWaits waits;
  waits.wakeup(1'000'000, 7, "t");  // it was running already: its switch is not in the text
  waits.switched(9'000'000, change(7, 0, kSleeps));
  CHECK(of(waits, "t:7").count == 0);
  CHECK(of(waits, "t:7").wait_us == 0);
}

TEST_CASE("where switches are missing, run time and waits are not known") {
  ThreadWaits waits;
  waits.wakeup(1'000'000, 7, "t");
  waits.switched(1'010'000, change(0, 7, kSleeps));
  waits.switched(1'020'000, change(7, 0, kSleeps));
  waits.switched(5'000'000, change(7, 0, kSleeps));  // it ran before that, and nobody saw it begin
  waits.switched(6'000'000, change(0, 8, kSleeps));
  waits.switched(7'000'000, change(0, 8, kSleeps));  // and this one twice
  CHECK(waits.gaps() == 2);
  CHECK(of(waits, "t:7").max_us == doctest::Approx(10));
  CHECK(std::isnan(of(waits, "t:7").run_us));
  CHECK(std::isnan(of(waits, "t:7").wait_us));
  CHECK(std::isnan(of(waits, "t:8").run_us));
}

TEST_CASE("events out of order are left out; waits open at the end are counted") {
  ThreadWaits waits;
  waits.wakeup(5'000'000, 7, "t");
  waits.switched(4'000'000, change(0, 7, kSleeps));
  CHECK(waits.disordered() == 1);
  CHECK(waits.unfinished() == 1);
  CHECK(waits.paired() == 0);
}

TEST_CASE("quantiles of delays") {
  std::vector<float> delays;
  for (int i = 100; i >= 0; --i) delays.push_back(static_cast<float>(i));
  ThreadWait wait = unknown_wait("t");
  summarise_delays(delays, wait);
  CHECK(wait.count == 101);
  CHECK(wait.p50_us == doctest::Approx(50));
  CHECK(wait.p99_us == doctest::Approx(99));
  CHECK(wait.max_us == doctest::Approx(100));
  CHECK(wait.mean_us == doctest::Approx(50));
}

TEST_CASE("a run that ends and of which nobody told the begin is an unseen wake-up, and no delay") {
  ThreadWaits waits;
  waits.switched(1000, change(0, 7, kSleeps));
  waits.switched(2000, change(7, 0, kSleeps));
  waits.wakeup(5000, 7, "t");
  waits.switched(9000, change(7, 0, kSleeps));  // when it came is missing
  waits.wakeup(12000, 7, "t");
  waits.switched(13000, change(0, 7, kSleeps));
  waits.switched(14000, change(7, 0, kRunnable));
  waits.switched(16000, change(7, 0, kSleeps));  // after a preemption: no wake-up
  const ThreadWait t = of(waits, "t:7");
  CHECK(t.count == 1);
  CHECK(t.max_us == doctest::Approx(1));
  CHECK(t.unseen == 1);
  CHECK(waits.gaps() == 2);
}

}  // namespace gradsync
