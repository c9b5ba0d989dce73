#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

// A job with one bucket of 25 M elements, and scatters that were measured at these sizes.
Conclusions job(const std::vector<std::int64_t>& sizes, const std::string& device = "cuda") {
  Inputs inputs;
  for (const std::int64_t elements : sizes)
    inputs.loads.push_back({.algorithm = "scatter",
                            .device = "cuda",
                            .elements = elements,
                            .ms_p50 = 1e-6 * static_cast<double>(elements),
                            .roofline_percent = 1e-6 * static_cast<double>(elements)});
  inputs.loads.push_back({.algorithm = "topk_sort", .device = "cuda", .elements = 25'000'000, .ms_p50 = 9});
  return test::analyze("process host=n pid=1\nfact rank=0 framework=ddp ddp.bucket_bytes=100000000 device=" + device +
                           "\n" + test::repeat_step(20, 1000, "range backward @0..@500"),
                       inputs);
}

}  // namespace

TEST_CASE("the scatter that was measured nearest to the job's bucket stands for it") {
  const Conclusions found = job({1'000'000, 12'000'000, 80'000'000});
  CHECK(*found.metrics.value("load.scatter.cuda.roofline_percent", "all") == 12);
  CHECK(*found.metrics.value("load.scatter.cuda.ms", "all") == 12);
  CHECK(found.facts.at("bench") == "cuda");
}

TEST_CASE("nothing is said of far sizes, of other devices, and of profiles that do not tell") {
  for (const Conclusions& found : {job({6'000'000, 101'000'000}), job({25'000'000}, "cpu"), job({0}), job({})}) {
    CHECK_FALSE(found.metrics.value("load.scatter.cuda.roofline_percent", "all"));
    CHECK_FALSE(found.facts.contains("bench"));
  }
}
