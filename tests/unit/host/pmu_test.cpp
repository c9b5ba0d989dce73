#include <doctest/doctest.h>
#include <stdlib.h>

#include <cerrno>
#include <thread>

#include "collectors/host/perf_pages.h"
#include "collectors/host/pmu_events.h"
#include "collectors/host/pmu_group.h"
#include "tests/unit/host/tree.h"

using namespace gradsync;

TEST_CASE("generic and raw events need no file") {
  const test::Tree empty;
  const PmuEvents events(empty.root());
  CHECK(events.find("cycles")->config == PERF_COUNT_HW_CPU_CYCLES);
  CHECK(events.find("LLC-load-misses")->type == PERF_TYPE_HW_CACHE);
  CHECK(events.find("LLC-load-misses")->config == 0x10002);
  CHECK(events.find("stalls")->config == PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
  CHECK(events.find("task-clock")->origin == PmuOrigin::software);
  CHECK(events.find("r412e")->type == PERF_TYPE_RAW);
  CHECK(events.find("r412e")->config == 0x412e);
}

TEST_CASE("names of a PMU in /sys") {
  const test::Tree tree;
  const std::string cpu = "sys/bus/event_source/devices/cpu/";
  tree.put(cpu + "type", "4\n");
  tree.put(cpu + "format/event", "config:0-7\n");
  tree.put(cpu + "format/umask", "config:8-15\n");
  tree.put(cpu + "events/l3-misses", "event=0x2e,umask=0x41\n");
  const PmuEvents events(tree.root());
  for (const char* name : {"cpu/l3-misses/", "cpu/event=0x2e,umask=0x41/", "l3-misses"}) {
    const Result<PmuEvent> found = events.find(name);
    REQUIRE_MESSAGE(found, name);
    CHECK(found->type == 4);
    CHECK(found->config == 0x412e);
    CHECK(found->origin == PmuOrigin::sysfs);
  }
  CHECK(events.find("uncore/clockticks/").error().why == "this machine has no PMU of the name uncore");
  CHECK(events.find("cpu/unheard/").error().why == "cpu has neither such an event nor such terms");
  CHECK_FALSE(events.find("cpu/event=0x100/"));
  for (const char* broken : {"", "/", "cpu/", "//", "r12zz"}) CHECK_FALSE(events.find(broken));
}

// The tables of other vendors' processors are in the library whatever this one is.
TEST_CASE("vendors' names through libpfm4") {
  ::setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
  const PmuEvents events;
  ::unsetenv("LIBPFM_ENCODE_INACTIVE");
  if (!events.has_library()) {
    MESSAGE("skipped: libpfm4 is not installed");
    return;
  }
  const std::pair<const char*, std::uint64_t> intel[] = {
      {"icx::LONGEST_LAT_CACHE:MISS", 0x412e},
      {"spr::MEM_LOAD_RETIRED:L3_MISS", 0x20d1},
      {"spr::CYCLE_ACTIVITY:STALLS_L3_MISS", 0x60006a3},
  };
  for (const auto& [name, config] : intel) {
    const Result<PmuEvent> found = events.find(name);
    if (!found) {
      WARN_MESSAGE(found, name);  // a build of the library for another architecture
      continue;
    }
    CHECK_MESSAGE(found->config == config, name);
    CHECK(found->type == PERF_TYPE_RAW);
    CHECK(found->origin == PmuOrigin::libpfm);
  }
  CHECK(events.find("perf::PERF_COUNT_HW_CACHE_MISSES")->config == PERF_COUNT_HW_CACHE_MISSES);
  CHECK_FALSE(events.find("icx::NO_SUCH_EVENT"));
  CHECK_FALSE(events.find("sched:sched_switch"));
}

TEST_CASE("a count is scaled by the time it ran, and refused below a tenth of it") {
  CHECK(scaled({0, 0, 0}, {100, 1000, 1000})->value == doctest::Approx(100));
  CHECK(scaled({50, 1000, 500}, {150, 2000, 750})->value == doctest::Approx(400));  // a quarter of the time
  CHECK(scaled({50, 1000, 500}, {150, 2000, 750})->running_percent == doctest::Approx(25));
  CHECK(scaled({0, 0, 0}, {100, 1000, 100}));
  CHECK_FALSE(scaled({0, 0, 0}, {100, 1000, 99}));
  CHECK_FALSE(scaled({0, 0, 0}, {0, 1000, 0}));  // never had a counter: not zero
  CHECK_FALSE(scaled({5, 10, 10}, {5, 10, 10}));
  CHECK_FALSE(scaled({5, 10, 10}, {}));  // a read that failed
}

TEST_CASE("a software clock counts threads that are started later") {
  const Result<PmuGroup> group = PmuGroup::open({*PmuEvents().find("task-clock")});
  if (!group) {
    MESSAGE("skipped: " << group.error().message());
    return;
  }
  const PmuReading before = group->read().front();
  std::thread([] {
    volatile int sum = 0;
    for (int i = 0; i < 20'000'000; ++i) sum = sum + 1;
  }).join();
  const auto count = scaled(before, group->read().front());
  REQUIRE(count);
  CHECK(count->value > 1e6);  // ns: adding 20 million times takes longer on any processor
  CHECK(count->running_percent > 99);
}

TEST_CASE("events that this machine lacks are told, the others counted") {
  const Result<PmuGroup> group =
      PmuGroup::open({{"no such type", 0x7ffffff0, 0, 0, 0, PmuOrigin::raw}, *PmuEvents().find("task-clock")});
  if (!group) {
    MESSAGE("skipped: " << group.error().message());
    return;
  }
  REQUIRE(group->events().size() == 1);
  REQUIRE(group->refused().size() == 1);
  CHECK(group->refused().front().on == "no such type");
  CHECK(group->refused().front().why.find("no such counter") != std::string::npos);
  CHECK_FALSE(PmuGroup::open({}));
}

TEST_CASE("every refusal has its own sentence") {
  const auto why = [](int error) { return perf_refusal("cannot count", "cycles", error).why; };
  CHECK(why(ENOENT).find("no such counter") != std::string::npos);
  CHECK(why(EOPNOTSUPP) == why(ENOENT));
  CHECK(why(EINVAL).find("does not know this event") != std::string::npos);
  CHECK(why(EMFILE).find("too many open files") != std::string::npos);
  CHECK(why(EBUSY).find("alone") != std::string::npos);
  CHECK(why(EACCES) == why(EPERM));
  CHECK(why(EACCES) != why(EINVAL));
}

TEST_CASE("a refused user is told which sysctl or capability helps, and only when it does") {
  struct Case {
    unsigned uid;
    std::optional<int> paranoid, open_to_all_at;
    const char *why, *hint;
  };
  const Case cases[] = {
      {1000, 2, -1, "kernel.perf_event_paranoid is 2,", "CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=-1"},
      {1000, 4, 2, "kernel.perf_event_paranoid is 4,", "sysctl kernel.perf_event_paranoid=2"},
      {1000, 2, 2, "another user's process, or seccomp", "run it as that user"},
      {1000, std::nullopt, 2, "forbids it to this user", "CAP_PERFMON"},
      {0, 2, -1, "refused to root", "container"},
  };
  for (const Case& one : cases) {
    const PerfDenial denial = perf_denial(one.uid, one.paranoid, one.open_to_all_at);
    CHECK_MESSAGE(denial.why.find(one.why) != std::string::npos, denial.why);
    CHECK_MESSAGE(denial.hint.find(one.hint) != std::string::npos, denial.hint);
  }
  CHECK(perf_denial(1000, 2, 2).hint.find("sysctl") == std::string::npos);
  CHECK(pages_refusal("cannot", "", EPERM).hint.find("perf_event_mlock_kb") != std::string::npos);
  CHECK(pages_refusal("cannot", "", ENOMEM).hint.empty());
}

TEST_CASE("one line says whether there are hardware counters") {
  const Coverage coverage = pmu_coverage();
  if (coverage.state == CoverageState::unavailable) CHECK(coverage.reason.ends_with("; software clocks instead"));
  CHECK(coverage.reason.find('\n') == std::string::npos);
}
