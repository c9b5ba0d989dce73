#include <doctest/doctest.h>

#include "tests/unit/analyzers/run_analyzers.h"

using namespace gradsync;

namespace {

// A hook on thread 2 with two kernels of unknown names and NCCL's; one of the model's before it.
constexpr const char* kStep = R"(
  process host=n pid=1
  fact rank=0 device=cuda
  step 0 0..1000
  range backward 100..500 lane=1
  host_call launch 120..121 lane=2 source=cupti on=2
  range compress 300..400 lane=2 hook=1
  host_call launch 310..311 lane=2 source=cupti on=3
  host_call launch 330..331 lane=2 source=cupti on=4
  host_call launch 350..351 lane=2 source=cupti on=5
  kernel gemm 125..225 stream=7 source=cupti on=2 occupancy_percent=12 multiprocessors_percent=10
  kernel mine 320..350 stream=7 source=cupti on=3 occupancy_percent=20 multiprocessors_percent=50
  kernel other 350..360 stream=7 source=cupti on=4 occupancy_percent=100 multiprocessors_percent=100
  collective all_reduce 360..420 stream=8 source=cupti on=5 occupancy_percent=5 multiprocessors_percent=3
)";

}  // namespace

TEST_CASE("occupancy of the kernels that compress, by time; the model's and NCCL's do not count") {
  const Conclusions found = test::analyze(kStep);
  CHECK(*found.metrics.value("kernel.occupancy_percent", "all") == doctest::Approx((30 * 20 + 10 * 100) / 40.0));
  CHECK(*found.metrics.value("kernel.small_grid_percent", "rank:0") == doctest::Approx(75));
  CHECK(found.metrics.find("kernel.occupancy_percent", "all")->n == 2);
  const Series& series = found.series.at("compress_kernels");
  REQUIRE(series.rows.size() == 2);
  CHECK(std::get<std::string>(series.rows[0][0]) == "mine");
  CHECK(std::get<double>(series.rows[0][3]) == doctest::Approx(20));
}

TEST_CASE("a driver that tells no limits leaves occupancy unknown") {
  std::string text = kStep;
  for (std::size_t at = text.find("occupancy_percent"); at != std::string::npos; at = text.find("occupancy_percent"))
    text.replace(at, 17, "x");
  CHECK_FALSE(test::analyze(text).metrics.value("kernel.occupancy_percent", "all"));
}
