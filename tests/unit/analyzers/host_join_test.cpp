#include <doctest/doctest.h>

#include <algorithm>

#include "analyzers/host_waits.h"
#include "src/timeline/builder.h"
#include "src/timeline/join_ranks.h"
#include "tests/support/text_events.h"
#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

constexpr Nanoseconds kUs = 1000;
constexpr int kTraining = 4000, kLoop = 4001;  // thread ids
constexpr int kStepUs = 100'000, kSteps = 20;

//   0      10000        30000      60000 compute_end          75000 end   90000       100000
//   idle   forward      backward   waits for the collective   idle        optimizer
std::string job(int rank) {
  return "process host=n pid=" + std::to_string(100 + rank) + " clean=1\nfact rank=" + std::to_string(rank) +
         " world_size=1 device=cpu framework=ddp ddp.gradient_bytes=4000000 hook.kind=none\n" +
         test::repeat_step(kSteps, kStepUs,
                           "range forward @10000..@25000\n"
                           "range backward @30000..@75000 compute_end_us=@60000\n"
                           "range optimizer @90000..@100000");
}

// What the doctor's own process wrote of that host.
class Doctor {
 public:
  explicit Doctor(TimelineBuilder& builder) : builder_(builder) {
    ProcessInfo process;
    process.host = "n";
    process.pid = 7;
    builder_.begin_process(process);
  }
  void window(int from_us, int to_us, const char* source = "sched_trace") {
    add(Kind::window, source, "", 0, from_us, to_us);
  }
  void wait(int tid, const char* thread, const char* by, int from_us, int to_us, Kind kind = Kind::sched_wait) {
    add(kind, thread, by, tid, from_us, to_us);
  }

 private:
  void add(Kind kind, const char* name, const char* group, int tid, int from_us, int to_us) {
    Event event;
    event.kind = kind;
    event.source = Source::host;
    event.name = builder_.intern(name);
    event.group = builder_.intern(group);
    event.sequence = static_cast<std::uint32_t>(tid);
    event.bytes = 100;  // process of rank 0
    event.start = from_us * kUs;
    event.end = to_us * kUs;
    builder_.event(event);
  }
  TimelineBuilder& builder_;
};

//   0            40000     50000     70000 sync 75000       100000
//   gemm         all_reduce beside it, then alone  nothing
const std::string kGpuJob = "process host=n pid=100 clean=1\nfact rank=0 world_size=1 device=cuda\n" +
                            test::repeat_step(kSteps, kStepUs,
                                              "range backward @0..@5000\n"
                                              "kernel gemm @0..@50000 stream=7 source=cupti\n"
                                              "collective all_reduce @40000..@70000 stream=9 source=cupti bytes=4000\n"
                                              "host_sync cudaStreamSynchronize @70000..@75000 source=cupti");

template <class Trace>
Conclusions analyze(Trace trace, const std::string& events = job(0)) {
  TimelineBuilder builder;
  test::feed(events, builder);
  Doctor doctor(builder);
  trace(doctor);
  std::vector<RankTimeline> ranks = builder.build();
  REQUIRE(ranks.size() == 1);
  std::erase_if(ranks[0].lanes, [&](const LaneInfo& lane) { return lane.id == ranks[0].training_lane; });
  if (ranks[0].training_lane) ranks[0].lanes.push_back({*ranks[0].training_lane, kTraining, ""});
  return test::analyze(ranks, {});
}

double part(const Conclusions& conclusions, const std::string& name) {
  const auto& parts = conclusions.attribution.front().parts_ms;
  const auto found = parts.find(name);
  return found == parts.end() ? -1 : found->second;
}

}  // namespace

TEST_CASE("a communication thread behind a hog explains its share of the exposed communication") {
  const Conclusions found = analyze([](Doctor& doctor) {
    doctor.window(0, kSteps * kStepUs);
    for (int step = 0; step < kSteps; ++step)
      doctor.wait(kLoop, "gloo", "burn:911", step * kStepUs + 62'000, step * kStepUs + 71'000);
  });
  const auto value = [&](const char* name) { return found.metrics.value(name, "rank:0").value_or(-1); };
  CHECK(value("sched.explained_percent") == doctest::Approx(60));  // 9 of 15 ms
  CHECK(value("sched.traced_exposed_percent") == doctest::Approx(15));
  CHECK(value("sched.held_up_ms") == doctest::Approx(9));
  CHECK(value("sched.held_up_percent") == doctest::Approx(9));
  CHECK(value("sched.starved_ms") == doctest::Approx(9));  // burn is not of the job
  CHECK(value("sched.explained_by_quota_percent") == doctest::Approx(0));
  CHECK(part(found, "sched_irq") == doctest::Approx(9));
  CHECK(part(found, "compute") == doctest::Approx(60));
  CHECK(part(found, "comm_unsplit") + std::max(0.0, part(found, "comm_transfer")) +
            std::max(0.0, part(found, "comm_peer_wait")) ==
        doctest::Approx(6));
  CHECK(found.facts.at("sched.held_up_by").find("gloo of rank 0, mostly while burn had the CPU") == 0);
}

TEST_CASE("on a GPU: waits beside work of the device cost nothing, those that leave it without work do") {
  const Conclusions found = analyze(
      [](Doctor& doctor) {
        doctor.window(0, kSteps * kStepUs);
        for (int step = 0; step < kSteps; ++step) {
          const int at = step * kStepUs;
          doctor.wait(kTraining, "python3", "burn:911", at + 20'000, at + 30'000);
          doctor.wait(kLoop, "nccl-proxy", "burn:911", at + 55'000, at + 65'000);
          doctor.wait(kTraining, "python3", "burn:911", at + 72'000, at + 82'000);
          doctor.wait(kLoop, "nccl-proxy", "burn:911", at + 85'000, at + 95'000);
        }
      },
      kGpuJob);
  CHECK(part(found, "compute") == doctest::Approx(50));
  CHECK(part(found, "comm_unsplit") == doctest::Approx(10));
  CHECK(part(found, "sched_irq") == doctest::Approx(20));
  CHECK(part(found, "host_sync") == doctest::Approx(2));
  CHECK(part(found, "idle") == doctest::Approx(18));
  CHECK(*found.metrics.value("sched.explained_percent", "rank:0") == doctest::Approx(50));
  CHECK(*found.metrics.value("sched.held_up_ms", "rank:0") == doctest::Approx(20));
}

TEST_CASE("the training thread's own waits leave what it computed; other threads' waits beside its work do not count") {
  const Conclusions found = analyze([](Doctor& doctor) {
    doctor.window(0, kSteps * kStepUs);
    for (int step = 0; step < kSteps; ++step) {
      doctor.wait(kTraining, "python3", "burn:911", step * kStepUs + 40'000, step * kStepUs + 50'000);
      doctor.wait(kLoop, "gloo", "burn:911", step * kStepUs + 12'000, step * kStepUs + 20'000);
    }
  });
  CHECK(part(found, "compute") == doctest::Approx(50));
  CHECK(part(found, "sched_irq") == doctest::Approx(10));
  CHECK(*found.metrics.value("phase.backward_ms", "all") == doctest::Approx(20));
  CHECK(*found.metrics.value("sched.explained_percent", "all") == doctest::Approx(0));
  CHECK(*found.metrics.value("sched.held_up_percent", "all") == doctest::Approx(10));
}

TEST_CASE("steps of an experiment's other side lose their waits as well, and are in no sum of them") {
  std::string text = job(0);
  const std::string step = "step 10 1000000..1100000";
  text.replace(text.find(step), step.size(), step + " variant=1");
  const Conclusions found = analyze(
      [](Doctor& doctor) {
        doctor.window(0, kSteps * kStepUs);
        for (int i = 0; i < kSteps; ++i)
          doctor.wait(kLoop, "gloo", "burn:911", i * kStepUs + 62'000, i * kStepUs + 71'000);
      },
      text);
  const Series& steps = found.series.at("steps");
  const auto column = std::find(steps.columns.begin(), steps.columns.end(), "sched_irq_ms") - steps.columns.begin();
  for (const auto& row : steps.rows)
    CHECK(std::get<double>(row[static_cast<std::size_t>(column)]) == doctest::Approx(9));
  const Metric& held = *found.metrics.find("sched.held_up_ms", "rank:0");
  CHECK(held.n == found.metrics.find("step.time_ms", "rank:0")->n);
}

TEST_CASE("a quota, interrupts and the process's own threads are told apart; who only feeds data is left out") {
  const Conclusions found = analyze([](Doctor& doctor) {
    doctor.window(0, kSteps * kStepUs);
    for (int step = 0; step < kSteps; ++step) {
      const int at = step * kStepUs + 60'000;
      doctor.wait(kLoop, "gloo", "idle", at, at + 4'000);
      doctor.wait(kLoop, "gloo", "virtio0", at + 5'000, at + 6'000, Kind::irq);
      doctor.wait(kLoop, "gloo", "python3:4000", at + 7'000, at + 10'000);
      doctor.wait(4002, "pt_data_pin", "burn:911", at + 10'000, at + 15'000);
    }
  });
  CHECK(*found.metrics.value("sched.explained_percent", "all") == doctest::Approx(100.0 * 8 / 15));
  CHECK(*found.metrics.value("sched.explained_by_quota_percent", "all") == doctest::Approx(50));
  CHECK(*found.metrics.value("sched.explained_by_irq_percent", "all") == doctest::Approx(12.5));
  CHECK(*found.metrics.value("sched.irq_exposed_percent", "all") == doctest::Approx(100.0 / 15));
  CHECK(*found.metrics.value("sched.irq_exposed_ms", "all") == doctest::Approx(1));
  CHECK(*found.metrics.value("sched.explained_by_own_threads_percent", "all") == doctest::Approx(37.5));
  CHECK(*found.metrics.value("sched.starved_ms", "all") == doctest::Approx(5));  // of 8: not behind its own thread
  CHECK(*found.metrics.value("sched.behind_job_percent", "all") == doctest::Approx(3));
  CHECK(found.facts.at("sched.held_up_by").find("nobody had the CPU: a quota") != std::string::npos);
}

TEST_CASE("steps outside of the windows are not judged; without windows nothing is") {
  const Conclusions half = analyze([](Doctor& doctor) {
    doctor.window(10 * kStepUs, 15 * kStepUs);
    for (int step = 0; step < kSteps; ++step)
      doctor.wait(kLoop, "gloo", "burn:911", step * kStepUs + 62'000, step * kStepUs + 71'000);
  });
  REQUIRE(half.metrics.find("sched.explained_percent", "all") != nullptr);
  CHECK(half.metrics.find("sched.explained_percent", "all")->n == 5);
  CHECK(part(half, "sched_irq") == -1);  // the mean over traced and other steps would mean nothing
  const Conclusions none = analyze([](Doctor& doctor) { doctor.wait(kLoop, "gloo", "burn:911", 62'000, 71'000); });
  CHECK_FALSE(none.metrics.value("sched.explained_percent", "all"));
  CHECK_FALSE(none.metrics.value("sched.held_up_percent", "all"));
  CHECK(part(none, "sched_irq") == -1);
}

TEST_CASE("preemptions alone have names of their own, and make no class: the rest of the waits is not known") {
  const Conclusions found = analyze([](Doctor& doctor) {
    doctor.window(0, kSteps * kStepUs, "switch_records");
    for (int step = 0; step < kSteps; ++step)
      doctor.wait(kLoop, "gloo", "other programs", step * kStepUs + 62'000, step * kStepUs + 71'000);
  });
  CHECK(*found.metrics.value("sched.preempted_percent", "rank:0") == doctest::Approx(9));
  CHECK(*found.metrics.value("sched.preempted_ms", "rank:0") == doctest::Approx(9));
  CHECK(*found.metrics.value("sched.preempted_exposed_percent", "rank:0") == doctest::Approx(60));
  CHECK_FALSE(found.metrics.value("sched.starved_percent", "rank:0"));
  CHECK_FALSE(found.metrics.value("sched.held_up_percent", "rank:0"));
  CHECK(part(found, "sched_irq") <= 0);
  CHECK(part(found, "compute") == doctest::Approx(60));
  CHECK(found.facts.at("sched.held_up_by").find("gloo of rank 0, mostly while no thread of the job had the CPU") == 0);
}
