#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;
using test::analyze;
using test::repeat_step;

namespace {

std::string rank(int number, int compute_end, const std::string& host = "n") {
  return "process host=" + host + " pid=" + std::to_string(number + 1) + "\nfact rank=" + std::to_string(number) +
         " world_size=3 framework=ddp hook.kind=none\n" +
         repeat_step(20, 100000,
                     "range backward @20000..@80000 compute_end_us=@" + std::to_string(compute_end) +
                         "\nrange optimizer @90000..@100000");
}

}  // namespace

TEST_CASE("a late rank is late against the median of the others") {
  const Conclusions found = analyze(rank(0, 50000) + rank(1, 52000) + rank(2, 70000));
  CHECK(*found.metrics.value("straggler.late_ms", "rank:2") == doctest::Approx(19));
  CHECK(*found.metrics.value("straggler.last_arrival_percent", "rank:2") == doctest::Approx(100));
  CHECK(*found.metrics.value("straggler.last_arrival_percent", "rank:0") == doctest::Approx(0));
  CHECK(*found.metrics.value("straggler.late_percent", "rank:2") == doctest::Approx(19));
  CHECK(*found.metrics.value("straggler.late_over_residual", "rank:2") > 1000);
}

TEST_CASE("one rank has no peers to be late against") {
  CHECK_FALSE(analyze(rank(0, 50000)).metrics.value("straggler.late_ms", "rank:0"));
}

TEST_CASE("the host of a GPU job runs ahead of its device: when it is done with backward says nothing") {
  std::string text;
  for (const auto& [number, compute_end] : {std::pair{0, 50000}, {1, 70000}})
    text += "process host=n pid=" + std::to_string(number + 1) + "\nfact rank=" + std::to_string(number) +
            " world_size=2 framework=ddp hook.kind=none device=cuda\n" +
            repeat_step(20, 100000,
                        "range backward @20000..@80000 compute_end_us=@" + std::to_string(compute_end) +
                            "\nrange optimizer @90000..@100000");
  CHECK_FALSE(analyze(text).metrics.value("straggler.late_ms", "rank:1").has_value());
}
