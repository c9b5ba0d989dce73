// Real traces of children of this process; where the kernel refuses them, these cases say so and test nothing.
#include "collectors/host/sched_trace.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <functional>

#include "collectors/host/sched_parts.h"
#include "collectors/host/ticker.h"
#include "src/hosttext/proc_tasks.h"
#include "tests/support/sinks.h"

using namespace gradsync;

namespace {

// Children end by themselves; whatever a check does, they are waited for.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() { wait(); }
  void add(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    pids_.push_back(child);
  }
  void wait() {
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    pids_.clear();
  }
  pid_t first() const { return pids_.front(); }

 private:
  std::vector<pid_t> pids_;
};

void sleep_for(Nanoseconds time) {
  const timespec pause{time / 1'000'000'000, time % 1'000'000'000};
  ::nanosleep(&pause, nullptr);
}

void pin_to_first_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

std::unique_ptr<SchedTrace> trace_of_children(TierChoice tier, std::size_t ring_bytes = 0) {
  TraceOptions options;
  options.ancestor = ::getpid();
  options.tier = tier;
  options.ring_bytes = ring_bytes;
  Result<std::unique_ptr<SchedTrace>> trace = SchedTrace::open(options);
  if (!trace) {
    MESSAGE("skipped: " << trace.error().message());
    return nullptr;
  }
  const Result<void> started = (*trace)->start();
  REQUIRE(started);
  return std::move(*trace);
}

constexpr int kSleeps = 200, kYielders = 20;

}  // namespace

// How often the kernel says that this thread came to a CPU.
std::int64_t own_turns() {
  const Result<std::string> text = read_file("/proc/thread-self/schedstat", 4096);
  const std::optional<SchedStat> stat = text ? parse_schedstat(*text) : std::nullopt;
  return stat ? static_cast<std::int64_t>(stat->slices) : -1;
}

TEST_CASE("eBPF counts the wake-ups of a thread that sleeps so often") {
  const std::unique_ptr<SchedTrace> trace = trace_of_children(TierChoice::bpf);
  if (!trace) return;
  Children children;
  int told[2];
  REQUIRE(::pipe(told) == 0);
  children.add([told] {
    for (int i = 0; i < kSleeps; ++i) sleep_for(500'000);
    const std::int64_t turns = own_turns();
    if (::write(told[1], &turns, sizeof turns) != sizeof turns) ::_exit(1);
  });
  const std::int64_t child = children.first();
  children.wait();
  trace->stop();
  std::int64_t turns = 0;
  REQUIRE(::read(told[0], &turns, sizeof turns) == sizeof turns);
  ::close(told[0]);
  ::close(told[1]);
  CHECK(std::string(trace->tier().letter) == "A");
  CHECK(trace->coverage_percent("") == 100);
  const std::vector<ThreadSeen> threads = trace->threads();
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].wait.tid == child);
  // One more for its birth; what else wakes a thread is a page fault or a lock or two.
  CHECK(threads[0].wait.count + threads[0].wait.unseen >= kSleeps);
  CHECK(threads[0].wait.count <= kSleeps + 20);
  // Each turn follows a wake-up or a preemption; its end may bring one or two more. Begins of which no tracepoint tells
  // (of a busy host's own tasks) are unseen after a sleep, and lost after a preemption.
  const std::int64_t seen =
      threads[0].wait.count + threads[0].preempted.count + static_cast<std::int64_t>(threads[0].wait.unseen);
  CHECK(seen >= turns - 1 - kSleeps / 50);
  CHECK(seen <= turns + 3);
  CHECK(threads[0].wait.unseen <= 0.1 * kSleeps);
  CHECK(threads[0].wait.p50_us > 0);
  CHECK(threads[0].wait.max_us >= threads[0].wait.p99_us);
  CHECK(threads[0].longest_at > trace->windows().front().first);
  CHECK(threads[0].longest_at < trace->windows().back().second);
}

TEST_CASE("waits of a job become events; a ring that is too small refuses them") {
  for (const std::size_t ring_bytes : {std::size_t{0}, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))}) {
    const std::unique_ptr<SchedTrace> trace = trace_of_children(TierChoice::bpf, ring_bytes);
    if (!trace) return;
    Children children;
    // Each waits for all others at every turn: thousands of waits of 50 µs and more in a second.
    for (int i = 0; i < kYielders; ++i)
      children.add([end = monotonic_now() + 700'000'000] {
        pin_to_first_cpu();
        while (monotonic_now() < end) {
          const Nanoseconds turn = monotonic_now() + 20'000;
          while (monotonic_now() < turn) {
          }
          ::sched_yield();
        }
      });
    children.wait();
    trace->stop();
    RecordingParts parts;
    add_sched_parts(*trace, parts);
    test::CountingSink events;
    write_held_up(*trace, events);
    REQUIRE(parts.coverage.size() >= 1);
    CHECK(parts.coverage[0].tier == "A");
    if (ring_bytes == 0) {
      CHECK(trace->held_dropped() == 0);
      CHECK(events.events > 200);
      CHECK(parts.coverage[0].state == CoverageState::collected);
    } else {
      CHECK(trace->held_dropped() > 0);
      CHECK(events.events == 0);
      CHECK(parts.coverage[0].state == CoverageState::partial);
      CHECK(parts.coverage[0].reason.find("single waits dropped") != std::string::npos);
    }
    CHECK(parts.series["sched"].rows.size() == kYielders);
    const ThreadSeen busy = trace->threads().front();
    CHECK(busy.preempted.count > 10);
    CHECK(!busy.wait.preempted_by.empty());
  }
}

TEST_CASE("the waits of both tiers are those of /proc schedstat") {
  for (const TierChoice tier : {TierChoice::bpf, TierChoice::rings}) {
    const std::unique_ptr<SchedTrace> trace = trace_of_children(tier);
    if (!trace) continue;
    Children children;
    for (int i = 0; i < 2; ++i)
      children.add([end = monotonic_now() + 2'500'000'000] {
        pin_to_first_cpu();
        while (monotonic_now() < end) {
        }
      });
    sleep_for(2'300'000'000);  // they are looked at while they live
    trace->stop();
    children.wait();
    const CrossCheck check = trace->cross_check();
    CHECK(check.threads == 2);
    REQUIRE(check.difference_percent().has_value());
    CHECK(std::abs(*check.difference_percent()) < 15);
  }
}

TEST_CASE("interrupts alone: nothing is known of threads") {
  TraceOptions options;
  options.subject = TraceSubject::interrupts;
  options.tier = TierChoice::bpf;
  const Result<std::unique_ptr<SchedTrace>> trace = SchedTrace::open(options);
  if (!trace) {
    MESSAGE("skipped: " << trace.error().message());
    return;
  }
  REQUIRE((*trace)->start());
  sleep_for(300'000'000);
  (*trace)->stop();
  CHECK((*trace)->threads().empty());
  CHECK((*trace)->coverage().size() == 4);
  bool softirqs = false;
  for (const IrqTime& time : (*trace)->irqs()) softirqs = softirqs || (time.soft && time.time > 0);
  CHECK(softirqs);
}

TEST_CASE("two ways that differ by more than 15 % warn; of little there is nothing to compare") {
  struct Case {
    double traced_ms, schedstat_ms;
    std::size_t warnings, facts;
  };
  for (const Case& one :
       {Case{100, 100, 0, 1}, Case{86, 100, 0, 1}, Case{84, 100, 1, 1}, Case{116, 100, 1, 1}, Case{10, 49, 0, 0}}) {
    RecordingParts parts;
    add_cross_check({one.traced_ms, one.schedstat_ms, 3}, "B", parts);
    CHECK(parts.coverage.size() == one.warnings);
    CHECK(parts.facts.count("sched.cross_check") == one.facts);
  }
  RecordingParts parts;
  add_cross_check({50, 100, 3}, "B", parts);
  REQUIRE(parts.coverage.size() == 1);
  CHECK(parts.coverage[0].source == "scheduler cross-check");
  CHECK(parts.coverage[0].reason.find("differ by -50 %") != std::string::npos);
}
