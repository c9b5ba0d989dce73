#include "collectors/host/sched_account.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace gradsync;

namespace {

constexpr Nanoseconds kUs = 1000;

void name(std::array<char, 16>& into, const char* text) { std::strncpy(into.data(), text, into.size()); }

TraceEvent switched(Nanoseconds at, int cpu, int from, bool runnable, int to) {
  TraceEvent event;
  event.at = at;
  event.cpu = cpu;
  event.from = event.current = from;
  event.to = to;
  event.runnable = runnable;
  name(event.from_name, from == 0 ? "swapper" : from < 100 ? "rank" : "burn");
  name(event.to_name, to == 0 ? "swapper" : to < 100 ? "rank" : "burn");
  return event;
}

TraceEvent other(Nanoseconds at, int cpu, TraceKind kind, int what, int current) {
  TraceEvent event;
  event.at = at;
  event.cpu = cpu;
  event.kind = kind;
  event.to = what;
  event.current = current;
  event.from = kind == TraceKind::irq_exit ? 1 : 0;  // handled
  name(event.to_name, kind == TraceKind::waking ? "rank" : "virtio0");
  return event;
}

// Threads below 100 are of the job: process 7.
SchedAccount account() {
  return SchedAccount([](std::int64_t tid) { return tid < 100 ? 7 : 0; });
}

}  // namespace

TEST_CASE("a wake-up behind a hog: how long, when, and who had the CPU") {
  SchedAccount all = account();
  all.add(switched(1 * kUs, 0, 10, false, 900));
  all.add(other(100 * kUs, 1, TraceKind::waking, 10, 0));
  all.add(switched(4100 * kUs, 0, 900, true, 10));
  REQUIRE(all.held_up().size() == 1);
  const HeldUp& held = all.held_up()[0];
  CHECK(held.kind == Kind::sched_wait);
  CHECK(held.pid == 7);
  CHECK(held.tid == 10);
  CHECK(held.start == 100 * kUs);
  CHECK(held.end == 4100 * kUs);
  CHECK(held.thread == "rank");
  CHECK(held.by == "burn:900");
  CHECK(all.tails(10)->longest == 4000 * kUs);
  CHECK(all.tails(10)->longest_at == 4100 * kUs);
  CHECK(all.waits().waited(10) == 4000 * kUs);
}

TEST_CASE("preempted, and nobody has the CPU: a quota") {
  SchedAccount all = account();
  all.add(switched(1 * kUs, 0, 0, false, 10));
  all.add(switched(1000 * kUs, 0, 10, true, 0));
  all.add(switched(81'000 * kUs, 0, 0, false, 10));
  REQUIRE(all.held_up().size() == 1);
  CHECK(all.held_up()[0].by == "idle");
  CHECK(all.tails(10)->preempted_us == std::vector<float>{80'000});
  CHECK(all.tails(10)->preempted_longest == 80'000 * kUs);
}

TEST_CASE("short waits and those of others are not held") {
  SchedAccount all = account();
  all.add(switched(1 * kUs, 0, 0, false, 10));
  all.add(switched(100 * kUs, 0, 10, true, 900));
  all.add(switched(149 * kUs, 0, 900, true, 10));    // 49 µs
  all.add(switched(5149 * kUs, 0, 10, false, 900));  // the hog waited 5 ms
  CHECK(all.held_up().empty());
  CHECK(all.tails(10)->preempted_us.size() == 1);
}

TEST_CASE("interrupts that took 20 µs from a thread of the job") {
  SchedAccount all = account();
  all.add(switched(1 * kUs, 0, 0, false, 10));
  all.add(other(10 * kUs, 0, TraceKind::irq_entry, 38, 10));
  all.add(other(35 * kUs, 0, TraceKind::irq_exit, 38, 10));
  all.add(other(40 * kUs, 0, TraceKind::softirq_entry, 3, 10));
  all.add(other(50 * kUs, 0, TraceKind::softirq_exit, 3, 10));  // 10 µs
  all.add(other(60 * kUs, 1, TraceKind::softirq_entry, 3, 0));
  all.add(other(99 * kUs, 1, TraceKind::softirq_exit, 3, 0));  // of an idle CPU
  REQUIRE(all.held_up().size() == 1);
  CHECK(all.held_up()[0].kind == Kind::irq);
  CHECK(all.held_up()[0].by == "virtio0");
  CHECK(all.held_up()[0].thread == "rank:10");
  CHECK(all.irqs().all().size() == 3);
}

TEST_CASE("no wait spans a loss") {
  SchedAccount all = account();
  all.add(switched(1 * kUs, 0, 10, false, 900));
  all.add(other(100 * kUs, 1, TraceKind::waking, 10, 0));
  all.lose_sight();
  all.add(switched(900'000 * kUs, 0, 900, true, 10));
  CHECK(all.held_up().empty());
  CHECK(all.waits().waited(10) == 0);
}

TEST_CASE("devices share a line: both take time, one had the interrupt") {
  SchedAccount all = account();
  TraceEvent exit = other(12 * kUs, 0, TraceKind::irq_exit, 38, 10);
  all.add(other(10 * kUs, 0, TraceKind::irq_entry, 38, 10));
  all.add(exit);
  all.add(other(13 * kUs, 0, TraceKind::irq_entry, 38, 10));
  exit.at = 17 * kUs;
  exit.from = 0;
  all.add(exit);
  REQUIRE(all.irqs().all().size() == 1);
  CHECK(all.irqs().all()[0].count == 1);
  CHECK(all.irqs().all()[0].time == 6 * kUs);
}
