#include "collectors/host/gpu_sampler.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cmath>

#include "src/model/series_table.h"
#include "tests/unit/host/tree.h"

using namespace gradsync;

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

// Of the job: 100 to 199; not its: 200 to 299; the others are not known here.
Owner owner_of(std::int64_t pid) {
  return pid / 100 == 1 ? Owner::job : pid / 100 == 2 ? Owner::other : Owner::unknown;
}

RecordingParts look_at(const std::string& script, int looks, const char* library = GSD_FAKE_NVML) {
  const test::Tree tree;
  tree.put("script", script);
  ::setenv("GSD_FAKE_NVML_SCRIPT", (tree.root() / "script").c_str(), 1);
  RecordingParts parts;
  {
    auto opened = NvmlLibrary::open(library);
    REQUIRE(opened);
    GpuSampler sampler(std::move(*opened), owner_of);
    for (int i = 0; i < looks; ++i) sampler.look((i + 1) * kSecond);
    sampler.add_parts(parts);
  }
  ::unsetenv("GSD_FAKE_NVML_SCRIPT");
  return parts;
}

double number(const RecordingParts& parts, const char* column, std::size_t gpu = 0) {
  const SeriesTable table(parts.series.at("gpu"));
  return table.number(table.rows()[gpu], column).value_or(std::nan(""));
}

std::string text(const RecordingParts& parts, const char* column) {
  const SeriesTable table(parts.series.at("gpu"));
  return table.text(table.rows()[0], column);
}

}  // namespace

TEST_CASE("reasons are counted in looks at which the GPU worked; each cause once") {
  // MHz, reasons, utilization, mW, ECC errors, Xid, processes
  const RecordingParts parts = look_at(
      "300 1 0 90000 0 0 101\n"       // idle: not counted
      "1900 0 97 600000 0 0 101\n"    // free
      "1500 4 98 700000 0 0 101\n"    // at the power limit
      "1200 20 98 650000 0 0 101\n"   // heat, by the driver
      "900 48 98 500000 0 0 101\n"    // heat, by the hardware: not also another slowdown
      "900 88 98 500000 0 0 101\n"    // the power supply's brake
      "1400 14 98 700000 0 0 101\n",  // at the limit, and held by its group
      7);
  CHECK(number(parts, "looks") == 7);
  CHECK(number(parts, "busy_looks") == 6);
  CHECK(number(parts, "told_looks") == 6);
  CHECK(number(parts, "throttled") == 5);
  CHECK(number(parts, "power_capped") == 2);
  CHECK(number(parts, "thermal") == 2);
  CHECK(number(parts, "hw_slowdown") == 1);
  CHECK(number(parts, "sync_boost") == 1);
  CHECK(number(parts, "max_sm_mhz") == 2000);
  CHECK(number(parts, "nvlink_version") == 4);
  CHECK(number(parts, "nvlink_bytes") == 2 * 6 * 1000 * 1024);  // both directions, six intervals
  CHECK(std::isnan(number(parts, "pcie_bytes")));               // this driver does not count them
  CHECK(number(parts, "memory_used_bytes") == doctest::Approx(60.0 * (1 << 30)));
  CHECK(parts.series.at("gpu_samples").rows.size() == 14);
}

TEST_CASE("what the driver does not tell of the second GPU is null, not zero") {
  const RecordingParts parts = look_at("1900 0 97 600000 0 0 101\n", 2);
  CHECK(text(parts, "device") == "gpu0");
  CHECK(number(parts, "looks", 1) == 2);
  CHECK(number(parts, "busy_looks", 1) == 0);
  for (const char* column : {"of_job", "max_sm_mhz", "nvlink_bytes", "ecc_uncorrected", "ecc_new", "other_processes"})
    CHECK_MESSAGE(std::isnan(number(parts, column, 1)), column);
}

TEST_CASE("errors that were there before the job and errors that came; Xids by number") {
  const RecordingParts parts = look_at(
      "1900 0 97 600000 2 0 101\n"
      "1900 0 97 600000 2 94 101\n"
      "1900 0 97 600000 5 79 101\n"
      "1900 0 97 600000 5 79 101\n",
      4);
  CHECK(number(parts, "ecc_uncorrected") == 5);
  CHECK(number(parts, "ecc_new") == 3);
  CHECK(number(parts, "xids") == 3);
  CHECK(text(parts, "xid_numbers") == "79 94");
}

TEST_CASE("processes on the GPU: ours, another job's, one look of another, and those of another namespace") {
  const RecordingParts shared = look_at("1900 0 97 1 0 0 101,201,202\n1900 0 97 1 0 0 101,201\n", 2);
  CHECK(number(shared, "of_job") == 1);
  CHECK(number(shared, "other_processes") == 1);
  CHECK(text(shared, "other_pids") == "201");

  const RecordingParts not_ours = look_at("1900 0 97 1 0 0 201\n", 2);
  CHECK(number(not_ours, "of_job") == 0);

  const RecordingParts strangers = look_at("1900 0 97 1 0 0 901\n", 2);
  CHECK(std::isnan(number(strangers, "of_job")));
  CHECK(std::isnan(number(strangers, "other_processes")));
}

TEST_CASE("an older library without these functions tells what it can") {
  const RecordingParts parts = look_at("1900 4 97 600000 0 0 101\n", 2, GSD_FAKE_NVML_OLD);
  CHECK(text(parts, "model") == "NVIDIA Example 80GB");
  CHECK(number(parts, "max_pcie_generation") == 5);
  CHECK(number(parts, "busy_looks") == 0);  // neither utilization nor reasons
  for (const char* column : {"of_job", "max_sm_mhz", "memory_used_bytes", "xids", "pcie_generation"})
    CHECK_MESSAGE(std::isnan(number(parts, column)), column);
}

TEST_CASE("many looks are thinned, the counts stay exact") {
  const RecordingParts parts = look_at("1900 4 97 600000 0 0 101\n", 700);
  CHECK(number(parts, "power_capped") == 700);
  CHECK(number(parts, "interval_s") == doctest::Approx(699));
  CHECK(parts.series.at("gpu_samples").rows.size() < 2 * 601);
}
