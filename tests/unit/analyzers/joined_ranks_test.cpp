// Ranks of several hosts or files: the right rank is late, by the right time, and waiting is told from sending.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;

namespace {

struct Host {
  std::string name;
  double offset_us = 0, drift = 0;
  std::string show(double us) const { return std::to_string(std::lround(us * (1 + drift) + offset_us)); }
};

constexpr int kSteps = 40;
double step_start(int step) { return 1e8 + step * 500'000.0 + (step * step * 37 % 101) * 70.0; }

// Plain DDP: backward has its last gradient at `ready`, and ends when the last rank's is there and 30 ms were sent.
std::string plain_ddp(int rank, const Host& host, double ready) {
  std::string text = "process host=" + host.name + " pid=" + std::to_string(rank + 1) +
                     " clean=1\nfact rank=" + std::to_string(rank) +
                     " world_size=2 device=cpu framework=ddp hook.kind=none\n";
  for (int step = 0; step < kSteps; ++step) {
    const auto at = [&](double us) { return host.show(step_start(step) + us); };
    const double woken = (step * 7919 + rank * 104729) % 40;  // up to 40 µs late
    text += "step " + std::to_string(step) + " " + at(0) + ".." + host.show(step_start(step + 1)) +
            "\nrange backward " + at(50'000) + ".." + at(330'000 + woken) + " compute_end_us=" + at(ready) +
            "\nrange optimizer " + at(400'000) + ".." + at(500'000) + "\n";
  }
  return text;
}

double metric(const Conclusions& found, const std::string& name, const std::string& scope) {
  return found.metrics.value(name, scope).value_or(-1);
}

// One step of a trace of a GPU: kernels on stream 7, collectives on stream 20 until `end`, on a clock of the rank's own.
std::string trace(int rank, int ready, int steps, const std::string& operation, int ranks = 3) {
  const Host clock{"file" + std::to_string(rank), rank * 3e6 + 1e6};
  std::string text = "process host=" + clock.name + " pid=1\nfact rank=" + std::to_string(rank) +
                     " device=cuda world_size=" + std::to_string(ranks) + "\n";
  for (int step = 0; step < steps; ++step) {
    const auto at = [&](double us) { return clock.show(step * 100'000 + (step * step * 37 % 101) * 70.0 + us); };
    text += "step " + std::to_string(step) + " " + at(0) + ".." + at(95'000) + " source=profiler\n" + "kernel gemm " +
            at(1'000) + ".." + at(10'000) + " stream=7 source=profiler\n" + "collective " + operation + " " +
            at(12'000) + ".." + at(13'000) + " stream=20 source=profiler bytes=64\n" + "collective " + operation + " " +
            at(ready) + ".." + at(90'000) + " stream=20 source=profiler bytes=64\n";
  }
  return text;
}

}  // namespace

TEST_CASE("two hosts, clocks 10 s and 100 ppm apart: lateness and waiting come out within the residual") {
  const Host a{"a", 5e6, 50e-6}, b{"b", -5e6, -50e-6};
  const Conclusions found = analyze(plain_ddp(0, a, 250'000) + plain_ddp(1, b, 300'000));
  const double residual_ms = metric(found, "clock.residual_us", "all") * 1e-3;
  REQUIRE(residual_ms > 0);
  CHECK(residual_ms < 0.05);
  CHECK(std::abs(metric(found, "straggler.late_ms", "rank:1") - 50) < residual_ms);
  CHECK(metric(found, "straggler.last_arrival_percent", "rank:1") == 100);
  CHECK(metric(found, "straggler.last_arrival_percent", "rank:0") == 0);
  CHECK(metric(found, "straggler.late_over_residual", "rank:1") > 3);
  CHECK(std::abs(metric(found, "attribution.comm_peer_wait_ms", "rank:0") - 50) < residual_ms);
  CHECK(std::abs(metric(found, "attribution.comm_transfer_ms", "rank:0") - 30) < residual_ms + 0.04);
  CHECK(std::abs(metric(found, "attribution.comm_transfer_ms", "rank:1") - 30) < residual_ms + 0.04);
  // Over these 20 s an offset without drift is wrong by 1 ms at both ends, far outside of the residual.
}

TEST_CASE("the parts of a step still add up when communication is split") {
  const Conclusions found = analyze(trace(0, 20'000, 6, "all_reduce") + trace(1, 20'000, 6, "all_reduce") +
                                    trace(2, 60'000, 6, "all_reduce"));
  for (const Attribution& attribution : found.attribution) {
    double sum = 0;
    for (const auto& [name, ms] : attribution.parts_ms) sum += ms;
    CHECK(sum == doctest::Approx(*found.metrics.value("step.time_ms", attribution.scope)));
  }
}

TEST_CASE("without a common clock the shortest part is the last to arrive's") {
  for (const char* operation : {"all_reduce", "send_recv"}) {  // twelve ends: too few to align by
    const Conclusions found =
        analyze(trace(0, 20'000, 6, operation) + trace(1, 21'000, 6, operation) + trace(2, 60'000, 6, operation));
    CHECK(metric(found, "straggler.short_collective_percent", "rank:2") == 100);
    CHECK(metric(found, "straggler.short_collective_percent", "rank:0") == 0);
    CHECK(found.metrics.find("straggler.short_collective_percent", "rank:2")->n == 5);  // the first step is warm-up
    CHECK(metric(found, "straggler.late_ms", "rank:2") == doctest::Approx(39.5));
    CHECK(metric(found, "straggler.late_percent", "rank:2") == doctest::Approx(100 * 39.5 / 95));
    CHECK(metric(found, "straggler.late_over_residual", "rank:2") == -1);  // there is no clock to have one
    CHECK(metric(found, "attribution.comm_peer_wait_ms", "rank:0") == doctest::Approx(40));
    CHECK(metric(found, "attribution.comm_transfer_ms", "rank:0") == doctest::Approx(31));
    CHECK(metric(found, "attribution.comm_peer_wait_ms", "rank:2") == doctest::Approx(0));
    CHECK(metric(found, "straggler.others_comm_percent", "rank:2") > 70);
  }
}

TEST_CASE("two steps are judged by their collectives, and n says how many they are") {
  std::string text;
  for (int rank = 0; rank < 3; ++rank) {
    text += trace(rank, rank == 1 ? 50'000 : 20'000, 1, "all_to_all");
    const auto at = [rank](int us) { return std::to_string(rank * 3'000'000 + 1'000'000 + us); };
    for (int i = 0; i < 3; ++i)
      text += "collective all_to_all " + at(91'000 + i * 1300 + (rank == 1 ? 1000 : 0)) + ".." + at(92'200 + i * 1300) +
              " stream=20 source=profiler bytes=64\n";
  }
  const Conclusions found = analyze(text);
  CHECK(metric(found, "straggler.short_collective_percent", "rank:1") == 100);
  CHECK(found.metrics.find("straggler.short_collective_percent", "rank:1")->n == 4);
  CHECK(metric(found, "straggler.late_ms", "rank:1") == doctest::Approx(33));
}

TEST_CASE("a rank that is not here may be later still: its wait is told, what is sent is not") {
  const Conclusions found = analyze(trace(0, 20'000, 6, "all_reduce", 8) + trace(1, 60'000, 6, "all_reduce", 8));
  CHECK(metric(found, "attribution.comm_peer_wait_ms", "rank:0") == doctest::Approx(40));
  CHECK(metric(found, "attribution.comm_transfer_ms", "rank:0") == -1);
  CHECK(metric(found, "attribution.comm_unsplit_ms", "rank:0") == doctest::Approx(31));
}

TEST_CASE("communicators are judged apart") {
  // Data parallel pairs 0-2 and 1-3; 3 delays 1. The others are even, although their pair is at another time.
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    text += "process host=n pid=" + std::to_string(rank + 1) + "\nfact rank=" + std::to_string(rank) + " device=cuda\n";
    for (int step = 0; step < 6; ++step) {
      const auto at = [&](int us) { return std::to_string(1000 + step * 100'000 + us); };
      const int ready = rank == 3 ? 70'000 : rank == 1 ? 40'000 : 20'000;
      text += "step " + std::to_string(step) + " " + at(0) + ".." + at(100'000) + " source=profiler\nkernel gemm " +
              at(1'000) + ".." + at(ready) + " stream=7 source=profiler\ncollective all_reduce " + at(ready) + ".." +
              at(rank % 2 == 0 ? 30'000 : 80'000) + " stream=20 source=profiler group=dp" + std::to_string(rank % 2) +
              " group_size=2\n";
    }
  }
  const Conclusions found = analyze(text);
  CHECK(metric(found, "straggler.late_ms", "rank:3") == doctest::Approx(30));
  CHECK(metric(found, "straggler.last_arrival_percent", "rank:3") == 100);
  CHECK(metric(found, "straggler.late_ms", "rank:0") == -1);  // nobody waited in its communicator
  CHECK(metric(found, "straggler.late_ms", "rank:1") == doctest::Approx(0));
  CHECK(found.series.at("stragglers").rows.size() == 2);
}
