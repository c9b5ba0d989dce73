#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/analyzers/run_analyzers.h"

namespace gradsync {
namespace {

struct Job {
  int quadruples = 12;
  int with_us = 100000, without_us = 60000;
  std::string state = "running", space = "1", more;
};

//   with      forward 20 ms, backward to 30 ms before the end; in it the hook: compresses for 20 ms, sends 2000 bytes
//   without   the same without the hook, 100000 bytes
std::string rank_text(int rank, const Job& job) {
  std::string text = fmt::format(
      "process host=n pid={} clean=1\nfact rank={} world_size=2 device=cpu framework=ddp ddp.gradient_bytes=100000 "
      "hook.kind=custom ab.with=dense net_namespace={} {}\nfact ab.state=\"{}\"\n",
      100 + rank, rank, job.space, job.more, job.state);
  int step = 0, time = 0;
  const auto add = [&](bool without, const std::string& attributes) {
    const int length = (without ? job.without_us : job.with_us) + 10 * (step % 7);
    text += fmt::format("step {} {}..{} variant={}{}\n", step++, time, time + length, without ? 1 : 0, attributes);
    text += fmt::format("range forward {}..{}\n", time, time + 20000);
    if (!without) text += fmt::format("range compress {}..{} hook=1\n", time + 40000, time + 60000);
    text += fmt::format("collective all_reduce {}..{} bytes={} dtype=float32\n", time + 30000, time + 35000,
                        without ? 100000 : 2000);
    time += length;
  };
  for (int i = 0; i < 10; ++i) add(false, "");
  for (int quadruple = 0; quadruple < job.quadruples; ++quadruple)
    for (int block = 0; block < 4; ++block)
      for (int i = 0; i < 3; ++i)  // the first is dropped
        add((block == 1 || block == 2) == (quadruple % 2 == 0),
            i == 0 ? "" : fmt::format(" ab_block={}", 4 * quadruple + block));
  return text;
}

Conclusions found(const Job& job) { return test::analyze(rank_text(0, job) + rank_text(1, job)); }

double value(const Conclusions& conclusions, const std::string& name) {
  return conclusions.metrics.value(name, "all").value_or(-1);
}

}  // namespace

TEST_CASE("a hook that costs: measured with its interval, by class, and what travels either way") {
  const Conclusions costs = found({});
  CHECK(costs.facts.at("ab.answer") == "costs");
  CHECK(value(costs, "ab.quadruples") == 12);
  CHECK(value(costs, "ab.with_ms") == doctest::Approx(100).epsilon(0.001));
  CHECK(value(costs, "ab.without_ms") == doctest::Approx(60).epsilon(0.001));
  const Metric& saved = *costs.metrics.find("measured.no_compression.saved_ms", "all");
  CHECK(saved.value == doctest::Approx(40).epsilon(0.001));
  CHECK(*saved.p10 > 39.9);
  CHECK(*saved.p90 < 40.1);
  CHECK(saved.n == 12);
  CHECK(value(costs, "compress.overhead_ms") == doctest::Approx(40).epsilon(0.001));
  CHECK(value(costs, "compress.overhead.compress_ms") == doctest::Approx(20));
  CHECK(value(costs, "ab.with_bytes") == 2000);
  CHECK(value(costs, "ab.without_bytes") == 100000);
  CHECK(costs.facts.at("ab.network") == "none, one host");
}

TEST_CASE("what passes without the hook is no step of the job as it is") {
  const Conclusions costs = found({});
  CHECK(value(costs, "step.time_ms") == doctest::Approx(100).epsilon(0.001));
  CHECK(value(costs, "attribution.compress_ms") == doctest::Approx(20).epsilon(0.001));
}

TEST_CASE("a hook that pays, and one that does neither") {
  Job job;
  job.without_us = 150000;
  CHECK(found(job).facts.at("ab.answer") == "saves");
  CHECK(value(found(job), "measured.no_compression.saved_ms") == doctest::Approx(-50).epsilon(0.001));
  job.without_us = job.with_us;
  CHECK(found(job).facts.at("ab.answer") == "no difference shown");
  CHECK(found(job).metrics.find("measured.no_compression.saved_ms", "all") == nullptr);
  CHECK(std::abs(value(found(job), "measured.ab_difference_ms")) < 0.1);
}

TEST_CASE("half precision in the hook's place is no statement about compression as such") {
  Job job;
  job.more = "ab.with=fp16";
  CHECK(value(found(job), "measured.fp16_hook.saved_ms") == doctest::Approx(40).epsilon(0.001));
  CHECK(found(job).metrics.find("compress.overhead_ms", "all") == nullptr);
}

TEST_CASE("what could not be judged has a reason and no number") {
  struct Case {
    Job job;
    std::string reason;
  };
  Job off, few, own;
  off.state = "off: a rank has not reported";
  few.quadruples = 9;
  own.state = "off: no communication hook is registered";
  own.quadruples = 0;
  for (const Case& one :
       {Case{off, "a rank has not reported"}, Case{few, "9 of at least 10 quadruples of blocks were complete"},
        Case{own, "no communication hook is registered"}}) {
    const Conclusions none = found(one.job);
    CHECK(none.facts.at("ab.answer") == "could not judge");
    CHECK(none.facts.at("ab.reason") == one.reason);
    CHECK(none.metrics.find("measured.ab_difference_ms", "all") == nullptr);
    CHECK(std::any_of(none.coverage.begin(), none.coverage.end(), [](const Coverage& entry) {
      return entry.source == "run --ab" && entry.state == CoverageState::unavailable;
    }));
  }
}

TEST_CASE("ranks in namespaces of their own have a network between them") {
  Job other;
  other.space = "2";
  CHECK(test::analyze(rank_text(0, {}) + rank_text(1, other)).facts.at("ab.network") ==
        "between network namespaces of one host");
}

TEST_CASE("a run without --ab has nothing of it") {
  const Conclusions none = test::analyze(test::repeat_step(20, 1000, "range forward @0..@500\n"));
  CHECK_FALSE(none.facts.contains("ab.answer"));
  CHECK_FALSE(none.metrics.find("ab.quadruples", "all"));
}

}  // namespace gradsync
