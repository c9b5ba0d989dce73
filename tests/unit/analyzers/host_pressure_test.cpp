#include <doctest/doctest.h>

#include <limits>

#include "analyzers/analyzers.h"

using namespace gradsync;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Series host(const std::vector<std::vector<Cell>>& rows) {
  return {"host",
          {"machine", "interval_s", "steal_percent", "softnet_dropped", "quota_group", "quota_periods",
           "throttled_periods", "throttled_ms"},
          rows};
}

}  // namespace

TEST_CASE("the worst machine stands for all; what is null is absent") {
  Inputs inputs;
  inputs.series["host"] = host({{"a", 10.0, 0.5, 20.0, "cpu/x", 100.0, 30.0, 900.0},
                                {"b", 10.0, 7.5, kNaN, "", kNaN, kNaN, kNaN},
                                {"c", 10.0, kNaN, 5.0, "cpu/y", 9.0, 9.0, 100.0}});
  Conclusions found;
  make_host_pressure()->conclude({}, inputs, found);
  CHECK(*found.metrics.value("host.steal_percent", "all") == doctest::Approx(7.5));
  CHECK(*found.metrics.value("host.softnet_drops_per_s", "all") == doctest::Approx(2));
  CHECK(*found.metrics.value("sched.throttled_percent", "all") == doctest::Approx(30));  // nine periods are too few
  CHECK(found.facts.at("sched.quota") == "group cpu/x was throttled in 30 of 100 periods, for 900.0 ms in all");
  CHECK_FALSE(found.metrics.value("host.cpu_pressure_percent", "all"));
}

TEST_CASE("links: a slow one of a GPU is no fault, missing lanes are") {
  Inputs inputs;
  inputs.series["topology"] = {"topology",
                               {"kind", "link_gts", "max_link_gts", "lanes", "max_lanes"},
                               {{"gpu", 2.5, 16.0, 16.0, 16.0},
                                {"gpu", 16.0, 16.0, 8.0, 16.0},
                                {"nic", 8.0, 16.0, 16.0, 16.0},
                                {"nic", kNaN, kNaN, kNaN, kNaN}}};
  Conclusions found;
  make_host_pressure()->conclude({}, inputs, found);
  CHECK(*found.metrics.value("topology.narrow_link_count", "all") == 2);
  CHECK(found.metrics.find("topology.narrow_link_count", "all")->n == 3);
}

TEST_CASE("counters of interfaces become rates; a counter that the device lacks has none") {
  Inputs inputs;
  inputs.series["nic"] = {
      "nic",
      {"device", "interval_s", "rx_dropped", "tx_dropped", "cnp_sent", "cnp_handled", "out_segments", "retransmits"},
      {{"mlx5_0/1", 10.0, kNaN, std::int64_t{0}, std::int64_t{100}, std::int64_t{50}, kNaN, kNaN},
       {"tcp", 10.0, kNaN, kNaN, kNaN, kNaN, std::int64_t{10'000}, std::int64_t{120}}}};
  Conclusions found;
  make_nic_pressure()->conclude({}, inputs, found);
  CHECK(*found.metrics.value("nic.cnp_per_s", "device:mlx5_0/1") == doctest::Approx(15));
  CHECK(*found.metrics.value("nic.drops_per_s", "device:mlx5_0/1") == 0);
  CHECK_FALSE(found.metrics.value("nic.pause_per_s", "device:mlx5_0/1"));
  CHECK(*found.metrics.value("nic.retransmit_percent", "device:tcp") == doctest::Approx(1.2));
  CHECK_FALSE(found.metrics.value("nic.cnp_per_s", "device:tcp"));
}
