#include <doctest/doctest.h>

#include <limits>

#include "analyzers/analyzers.h"

using namespace gradsync;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const std::vector<std::string> kColumns{"machine",         "device",
                                        "of_job",          "interval_s",
                                        "busy_looks",      "told_looks",
                                        "throttled",       "power_capped",
                                        "thermal",         "hw_slowdown",
                                        "sync_boost",      "max_sm_mhz",
                                        "pcie_generation", "max_pcie_generation",
                                        "pcie_lanes",      "max_pcie_lanes",
                                        "nvlink_bytes",    "ecc_uncorrected",
                                        "ecc_new",         "xids",
                                        "xid_numbers",     "other_processes",
                                        "other_pids"};

std::vector<Cell> row(const char* machine, const char* device, double of_job, double told) {
  return {machine, device, of_job, 10.0, told, told, 8.0, 4.0, 2.0,     1.0, 1.0,   2000.0,
          4.0,     5.0,    8.0,    16.0, 5e9,  0.0,  0.0, 3.0, "31 79", 1.0, "4711"};
}

}  // namespace

TEST_CASE("shares of the looks at which the GPU worked, by cause") {
  Inputs inputs;
  inputs.series["gpu"] = {"gpu", kColumns, {row("a", "gpu0", 1, 10)}};
  std::vector<std::vector<Cell>> looks;
  for (int i = 0; i < 6; ++i) looks.push_back({"a", "gpu0", std::int64_t{i < 5}, 1500.0, 650.0, kNaN});
  inputs.series["gpu_samples"] = {
      "gpu_samples", {"machine", "device", "busy", "sm_mhz", "power_w", "temperature_c"}, looks};
  Conclusions found;
  make_gpu_state()->conclude({}, inputs, found);
  const auto value = [&](const char* metric) { return found.metrics.value(metric, "device:gpu0").value_or(-1); };
  CHECK(value("gpu.clock_throttled_percent") == doctest::Approx(80));
  CHECK(value("gpu.power_capped_percent") == doctest::Approx(40));
  CHECK(value("gpu.thermal_slowdown_percent") == doctest::Approx(20));
  CHECK(value("gpu.hw_slowdown_percent") == doctest::Approx(10));
  CHECK(value("gpu.pcie_link_percent") == doctest::Approx(25));  // half the lanes, half the speed
  CHECK(value("gpu.nvlink_gbytes_per_s") == doctest::Approx(0.5));
  CHECK(value("gpu.sm_clock_percent") == doctest::Approx(75));
  CHECK(found.metrics.find("gpu.sm_clock_hz", "device:gpu0")->n == 5);
  CHECK(value("gpu.ecc_uncorrected") == 0);
  CHECK(value("gpu.temperature_c") == -1);  // not told
  CHECK(found.facts.at("gpu.xids") ==
        "gpu0: Xid 31 (access to memory that is not mapped); gpu0: Xid 79 (the GPU has fallen off the bus)");
  CHECK(found.facts.at("gpu.others") == "gpu0: process 4711");
}

TEST_CASE("few looks give no share; GPUs of other jobs are left out; several machines are told apart") {
  Inputs inputs;
  inputs.series["gpu"] = {
      "gpu", kColumns, {row("a", "gpu0", 1, 4), row("a", "gpu1", 0, 10), row("b", "gpu0", kNaN, 10)}};
  Conclusions found;
  make_gpu_state()->conclude({}, inputs, found);
  CHECK_FALSE(found.metrics.value("gpu.power_capped_percent", "device:a/gpu0"));
  CHECK(*found.metrics.value("gpu.xid_count", "device:a/gpu0") == 3);
  CHECK_FALSE(found.metrics.value("gpu.xid_count", "device:a/gpu1"));
  CHECK(*found.metrics.value("gpu.power_capped_percent", "device:b/gpu0") == doctest::Approx(40));
}
