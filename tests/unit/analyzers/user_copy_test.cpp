#include <doctest/doctest.h>

#include "src/timeline/builder.h"
#include "tests/support/text_events.h"
#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

constexpr Nanoseconds kUs = 1000, kPeriod = 1'001'001;
constexpr int kStepUs = 100'000, kSteps = 20;

//   0      10000        30000      60000 compute_end          75000 end   90000       100000
//   idle   forward      backward   waits for the collective   idle        optimizer
std::string job() {
  return "process host=n pid=100 clean=1\nfact rank=0 world_size=1 device=cpu framework=ddp "
         "ddp.gradient_bytes=4000000 hook.kind=none\n" +
         test::repeat_step(kSteps, kStepUs,
                           "range forward @10000..@25000\n"
                           "range backward @30000..@75000 compute_end_us=@60000\n"
                           "range optimizer @90000..@100000");
}

Series samples(std::initializer_list<std::vector<Cell>> rows) {
  return {"usercopy", {"machine", "pid", "process", "tid", "thread", "by", "copies", "samples", "source"}, rows};
}

std::vector<Cell> row(int pid, const char* name, int tid, const char* by, int copies, int of) {
  return {std::string("n"), std::int64_t{pid},    std::string(name), std::int64_t{tid},       std::string(name),
          std::string(by),  std::int64_t{copies}, std::int64_t{of},  std::string("cpu-clock")};
}

// What the doctor saw of process 100: a copy at each of these times of each step.
Conclusions analyze(std::initializer_list<int> at_us, Series series, int window_us = kSteps * kStepUs,
                    const char* thread = "gloo") {
  TimelineBuilder builder;
  test::feed(job(), builder);
  ProcessInfo doctor;
  doctor.host = "n";
  doctor.pid = 7;
  builder.begin_process(doctor);
  Event event;
  event.source = Source::host;
  event.kind = Kind::window;
  event.name = builder.intern("copy_samples");
  event.end = window_us * kUs;
  builder.event(event);
  event.kind = Kind::copy;
  event.name = builder.intern(thread);
  event.bytes = 100;
  for (int step = 0; step < kSteps; ++step)
    for (const int at : at_us) {
      event.end = (step * kStepUs + at) * kUs;
      event.start = event.end - kPeriod;
      builder.event(event);
    }
  const std::vector<RankTimeline> ranks = builder.build();
  REQUIRE(ranks.size() == 1);
  Inputs inputs;
  if (!series.rows.empty()) inputs.series["usercopy"] = std::move(series);
  return test::analyze(ranks, inputs);
}

}  // namespace

TEST_CASE("copies are charged to the step, and to its exposed communication where they lie in it") {
  // Three in the 15 ms of exposed communication, one beside forward.
  const Conclusions found =
      analyze({20'000, 62'000, 65'000, 70'000},
              samples({row(100, "python3", 101, "send", 30, 1000), row(100, "python3", 101, "receive", 90, 1000),
                       row(100, "python3", 102, "", 0, 200)}));
  const auto value = [&](const char* name, const char* scope = "rank:0") {
    return found.metrics.value(name, scope).value_or(-1);
  };
  CHECK(value("usercopy.exposed_percent") == doctest::Approx(20.02));  // 3.003 of 15 ms
  CHECK(value("usercopy.exposed_ms") == doctest::Approx(3.003));
  CHECK(value("usercopy.step_percent") == doctest::Approx(4.004));
  CHECK(value("usercopy.share_percent") == doctest::Approx(10));  // 120 of 1200
  CHECK(value("usercopy.share_low_percent") < 9);
  CHECK(value("usercopy.share_high_percent") > 11);
  CHECK(value("usercopy.receive_percent") == doctest::Approx(7.5));
  CHECK(value("usercopy.share_percent", "process:python3:100") == doctest::Approx(10));
  CHECK(value("usercopy.share_percent", "thread:python3:101") == doctest::Approx(12));
  CHECK(value("usercopy.share_percent", "thread:python3:102") == doctest::Approx(0));
  CHECK(value("usercopy.share_percent", "all") == doctest::Approx(10));
  CHECK(found.facts.at("usercopy.most").find("python3:100 spent 10") == 0);
  CHECK(found.facts.at("usercopy.most").find("receive 7.5") != std::string::npos);
  // Samples are no waits: the step's classes stay what they were.
  CHECK_FALSE(found.metrics.value("sched.held_up_ms", "rank:0"));
}

TEST_CASE("steps outside of the sampled time, and threads that feed data, are not charged") {
  const Conclusions cut = analyze({62'000}, {}, 2 * kStepUs);
  CHECK_FALSE(cut.metrics.value("usercopy.step_percent", "rank:0"));  // fewer than three counted steps
  const Conclusions data = analyze({62'000}, {}, kSteps * kStepUs, "pt_data_worker");
  CHECK(data.metrics.value("usercopy.step_percent", "rank:0") == std::optional<double>(0));
}

TEST_CASE("a process of few samples is not judged, and none without any") {
  const Conclusions few = analyze({}, samples({row(100, "python3", 101, "send", 100, 150)}));
  CHECK_FALSE(few.metrics.value("usercopy.share_percent", "all"));
  CHECK_FALSE(few.facts.contains("usercopy.most"));
  CHECK_FALSE(analyze({}, {}).metrics.value("usercopy.share_percent", "all"));
}
