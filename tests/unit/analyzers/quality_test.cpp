#include "analyzers/quality_rows.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/unit/analyzers/run_analyzers.h"

namespace gradsync {
namespace {

std::string rank_text(int rank, const std::string& facts, const std::string& marks) {
  return fmt::format("process host=n pid={} clean=1\nfact rank={} world_size=2 device=cpu quality.state=running {}\n{}",
                     100 + rank, rank, facts, marks);
}

// A window of `passes` passes that ended with pass `pass`, of a layer of `elements`.
std::string window(const std::string& layer, int pass, int passes, int elements, const std::string& numbers) {
  return fmt::format("mark quality.window 1..1 group={} seq={} bytes={} passes={} {}\n", layer, pass, elements, passes,
                     numbers);
}

std::string hook(int pass, int cosine_ppm, int expected_ppm, int residual_milli) {
  return fmt::format("mark quality.hook 1..1 group=all seq={} cosine_ppm={} expected_ppm={} residual_milli={}\n", pass,
                     cosine_ppm, expected_ppm, residual_milli);
}

Conclusions found(const std::string& marks, const std::string& facts = "", const std::string& others = "") {
  return test::analyze(rank_text(0, facts, marks) + rank_text(1, facts, others));
}

double value(const Conclusions& conclusions, const std::string& name, const std::string& scope = "all") {
  return conclusions.metrics.value(name, scope).value_or(-1);
}

}  // namespace

TEST_CASE("closed forms: energy of the largest entries, and one rank's share of a union") {
  CHECK(std::sqrt(kept_energy(0.05)) == doctest::Approx(0.5283).epsilon(1e-3));
  CHECK(std::sqrt(kept_energy(0.02)) == doctest::Approx(0.3795).epsilon(1e-3));
  CHECK(std::sqrt(kept_energy(0.01)) == doctest::Approx(0.2907).epsilon(1e-3));
  CHECK(std::sqrt(kept_energy(0.001)) == doctest::Approx(0.1127).epsilon(1e-3));
  CHECK(kept_energy(1) == 1);
  CHECK(kept_energy(0) == 0);
  CHECK(density_of_one(0.19, 2) == doctest::Approx(0.1));
  CHECK(density_of_one(1, 8) == 1);
  CHECK(density_of_one(0.3, 1) == 0.3);
}

TEST_CASE("the longest finite windows of the whole gradient are judged, of one rank") {
  const Conclusions conclusions =
      found(window("all", 51, 32, 1000, "cosine_ppm=900000 norm_ratio_ppm=980000 sent_ppm=190000") +
                window("all", 83, 32, 1000, "cosine_ppm=910000 norm_ratio_ppm=990000 sent_ppm=190000") +
                window("all", 83, 64, 1000, "cosine_ppm=960000 norm_ratio_ppm=1000000 sent_ppm=190000") +
                window("all", 147, 128, 1000, "nonfinite_true=7"),
            "", window("all", 83, 64, 1000, "cosine_ppm=1"));
  CHECK(value(conclusions, "quality.window_cosine") == doctest::Approx(0.96));
  CHECK(value(conclusions, "quality.window_passes") == 64);
  CHECK(value(conclusions, "quality.selected_percent") == doctest::Approx(10));
  CHECK(value(conclusions, "quality.window_turns") == doctest::Approx(6.4));
  CHECK(conclusions.series.at("quality_windows").rows.size() == 4);
}

TEST_CASE("a layer that receives nothing: starved when it has a gradient, without K when it is too small") {
  std::string marks = window("all", 147, 128, 2000, "cosine_ppm=500000 sent_ppm=39600");
  marks += window("large", 147, 128, 1500, "norm_ratio_ppm=0 sent_ppm=0 moved_ppm=1000000");
  marks += window("bias", 147, 128, 30, "norm_ratio_ppm=0 sent_ppm=0 moved_ppm=1000000");
  marks += window("frozen", 147, 128, 30, "sent_ppm=0 moved_ppm=0");
  marks += window("good", 147, 128, 400, "norm_ratio_ppm=900000 sent_ppm=80000 moved_ppm=1000000");
  const Conclusions conclusions = found(marks);
  CHECK(value(conclusions, "quality.starved_layers") == 2);
  CHECK(value(conclusions, "quality.layers_without_k") == 1);
  CHECK(conclusions.metrics.find("quality.starved_layers", "all")->n == 3);  // the frozen one is none
  CHECK(conclusions.facts.at("quality.starved") == "bias, large");
  // 32 passes say nothing about never
  CHECK_FALSE(found(window("all", 51, 32, 30, "cosine_ppm=1 sent_ppm=39600") +
                    window("bias", 51, 32, 30, "sent_ppm=0 moved_ppm=1000000"))
                  .metrics.value("quality.starved_layers", "all"));
}

TEST_CASE("windows that are not finite judge nothing") {
  const Conclusions conclusions = found(window("all", 147, 128, 100, "nonfinite_received=9 sent_ppm=39600") +
                                        window("bias", 147, 128, 30, "sent_ppm=0 moved_ppm=1000000"));
  for (const char* name : {"quality.window_passes", "quality.window_cosine", "quality.starved_layers"})
    CHECK_FALSE(conclusions.metrics.value(name, "all"));
}

TEST_CASE("a layer's norm is held against what the method keeps of a whole gradient") {
  std::string marks;
  for (const int passes : {32, 64, 128}) {
    marks += window("all", 200, passes, 1000, "cosine_ppm=400000 norm_ratio_ppm=380000 sent_ppm=39600");
    marks += window("net.0", 200, passes, 500, "norm_ratio_ppm=38000");
    marks += window("net.1", 200, passes, 5, "norm_ratio_ppm=38000");  // half a percent of the parameters
  }
  const Conclusions without = found(marks);
  CHECK(value(without, "quality.norm_over_expected", "layer:net.0") == doctest::Approx(0.1).epsilon(0.01));
  CHECK_FALSE(without.metrics.value("quality.norm_over_expected", "layer:net.1"));
  CHECK(value(without, "quality.norm_ratio", "layer:net.1") == doctest::Approx(0.038));
  const Conclusions with = found(marks, "quality.memory=\"in residuals\"");
  CHECK(value(with, "quality.norm_over_expected", "layer:net.0") == doctest::Approx(0.038));
}

TEST_CASE("single passes: the identity of the method, and a memory that grows") {
  std::string marks;
  for (int i = 0; i < 40; ++i) marks += hook(4 + 8 * i, 400000 + 10, 400000, 1000 * (i + 1));
  const Conclusions conclusions = found(marks + window("all", 51, 32, 100, "cosine_ppm=1 sent_ppm=1000000"));
  CHECK(value(conclusions, "quality.hook_selfcheck") == doctest::Approx(1e-5));
  CHECK(value(conclusions, "quality.step_cosine") == doctest::Approx(0.40001));
  CHECK(value(conclusions, "quality.residual_ratio") == doctest::Approx(35.5));
  CHECK(value(conclusions, "quality.residual_growth") == doctest::Approx(35.5 / 15.5));
  CHECK(value(conclusions, "quality.residual_over_limit") == doctest::Approx(3.55));
}

TEST_CASE("where what is not finite comes from") {
  const auto mark = [](int pass, int raw, int received) {
    return fmt::format(
        "mark quality.range 1..1 group=all seq={} raw_nonfinite={} received_nonfinite={} tiny_ppm=100000\n", pass, raw,
        received);
  };
  const Conclusions exchange = found(mark(0, 0, 0) + mark(4, 0, 1) + mark(12, 1, 1));
  CHECK(value(exchange, "quality.nonfinite_count") == 2);
  CHECK(value(exchange, "quality.underflow_percent") == doctest::Approx(10));
  CHECK(exchange.facts.at("quality.nonfinite") == "what came back, of finite gradients in pass 4");
  CHECK(found(mark(4, 1, 1)).facts.at("quality.nonfinite_from") == "gradients");
  CHECK_FALSE(found(mark(4, 0, 0)).facts.contains("quality.nonfinite"));
}

TEST_CASE("late noise: the error stays while the gradient goes") {
  std::string marks;
  for (int i = 0; i < 20; ++i)
    marks += window("all", 51 + 32 * i, 32, 100,
                    fmt::format("cosine_ppm={} norm_ratio_ppm=1000000 norm_log2_milli={}", i < 10 ? 980000 : 500000,
                                i < 10 ? 0 : -3000));
  const Conclusions conclusions = found(marks);
  CHECK(value(conclusions, "quality.relative_error") == doctest::Approx(1));
  CHECK(value(conclusions, "quality.error_growth") == doctest::Approx(5));
  CHECK(value(conclusions, "quality.gradient_left_percent") == doctest::Approx(12.5));
}

TEST_CASE("memory: only a mark that rose is a peak") {
  const auto mark = [](int bytes, int moved) {
    return fmt::format("mark quality.memory 1..1 group=all seq=2 bytes={} gradient_bytes=1000000 moved={}\n", bytes,
                       moved);
  };
  const Conclusions below = found(mark(3000000, 0));
  CHECK_FALSE(below.metrics.value("memory.compress_peak_percent", "all"));
  CHECK(below.facts.at("memory.compress_peak") == "below that of the rest of the step: at most 3.0 MB");
  CHECK(value(found(mark(3000000, 0) + mark(2500000, 1)), "memory.compress_peak_percent") == doctest::Approx(250));
}

TEST_CASE("the store's answer and our own cost, by rank") {
  const auto marks = [](int ns, int spent) {
    return fmt::format(
        "mark quality.rtt 1..1 group=store bytes=11 min_ns={} median_ns=9000000\n"
        "mark quality.cost 1..1 group=all seq=28 spent_ns={} took_ns=1000000\n",
        ns, spent);
  };
  const Conclusions conclusions = found(marks(50000, 4000), "", marks(2000000, 6000));
  CHECK(value(conclusions, "store.rtt_ms", "rank:1") == doctest::Approx(2));
  CHECK(value(conclusions, "store.rtt_over_best", "rank:1") == doctest::Approx(40));
  CHECK(value(conclusions, "quality.cost_percent") == doctest::Approx(0.6));
}

TEST_CASE("a rank that sends more than the others, inside the hook") {
  const auto text = [](int bytes, int count, int received = 100) {
    std::string steps;
    for (int i = 0; i < count; ++i)
      steps += fmt::format(
          "step {} {}..{}\ncollective all_gather {}..{} bytes={} hook=1\ncollective all_reduce {}..{} "
          "bytes=999\ncollective recv {}..{} bytes={} hook=1\n",
          i, i * 100, i * 100 + 100, i * 100 + 10, i * 100 + 20, bytes, i * 100 + 30, i * 100 + 40, i * 100 + 50,
          i * 100 + 60, received);
    return steps;
  };
  const Conclusions conclusions = found(text(200, 8, 500), "", text(500, 4, 200));  // half the steps
  CHECK(value(conclusions, "compress.bytes_over_least", "rank:0") == 1);
  CHECK(value(conclusions, "compress.bytes_over_least", "rank:1") == doctest::Approx(2.5));
}

TEST_CASE("why there is nothing to judge is told") {
  const auto told = [](const std::string& state) {
    const Conclusions conclusions =
        test::analyze("process host=n pid=1\nfact rank=0 quality.state=\"" + state + "\"\n");
    for (const Coverage& entry : conclusions.coverage)
      if (entry.source == "gradient quality") return entry;
    return Coverage{};
  };
  CHECK(told("off: it cost 3.00 % of the step, allowed is 1 %").reason == "it cost 3.00 % of the step, allowed is 1 %");
  CHECK(told("waiting for pass 4").state == CoverageState::unavailable);
  CHECK(told("running").state == CoverageState::collected);
}

}  // namespace gradsync
