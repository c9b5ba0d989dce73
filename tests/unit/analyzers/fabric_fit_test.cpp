// Sweeps in, rows, fits and costs out.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "analyzers/analyzers.h"
#include "analyzers/fabric_cost.h"
#include "analyzers/fabric_curves.h"
#include "analyzers/fit_curve.h"
#include "src/model/series_table.h"
#include "tests/unit/analyzers/sweeps.h"

namespace gradsync {
namespace {

Conclusions conclude(const Inputs& inputs) {
  Conclusions conclusions;
  make_fabric_curve()->conclude(Summary{}, inputs, conclusions);
  make_fabric_fit()->conclude(Summary{}, inputs, conclusions);
  return conclusions;
}

double startup_and_bytes(double bytes) { return 40 + bytes * 1e-3; }  // half at 40 000 bytes
double two_protocols(double bytes) { return bytes <= 32768 ? 10 + bytes * 5e-4 : 60 + bytes * 1e-4; }

}  // namespace

TEST_CASE("sizes whose calls jump between two times are not fitted: their median is neither") {
  Inputs inputs = test::live_sweep("all_reduce", startup_and_bytes, {.noise = 0.01});
  for (auto& row : inputs.series.at("sweep_samples.all_reduce").rows)
    if (std::get<std::int64_t>(row[0]) <= 4096 && std::get<std::int64_t>(row[1]) % 2 == 1)
      row[2] = 50 * std::get<double>(row[2]);
  const Conclusions found = conclude(inputs);
  CHECK(*found.metrics.value("fabric.all_reduce.alpha_us", "all") == doctest::Approx(40).epsilon(0.05));
  const SeriesTable rows(found.series.at("sweep.all_reduce"));
  CHECK_FALSE(rows.number(rows.rows()[0], "startup_share_percent"));
}

TEST_CASE("samples become rows: quantiles of the calls, bandwidths of the median, the sum of wrong results") {
  Inputs inputs;
  inputs.facts["sweep.ranks"] = std::string("4");
  Series& samples = inputs.series["sweep_samples.all_reduce"];
  samples.columns = {"bytes", "repeat", "us", "type", "count", "skew_us", "graph_us", "wrong", "load"};
  for (const double us : {100.0, 110.0, 120.0, 130.0, 140.0})
    samples.rows.push_back({std::int64_t{4096}, std::int64_t{0}, us, std::string("float"), std::int64_t{1024}, 1.0,
                            std::nan(""), us < 105 ? Cell(std::int64_t{2}) : Cell(std::nan("")), std::string()});
  const Conclusions found = conclude(inputs);
  const SeriesTable table(found.series.at("sweep.all_reduce"));
  REQUIRE(table.rows().size() == 1);
  const auto& row = table.rows()[0];
  CHECK(table.number(row, "n") == 5);
  CHECK(table.number(row, "count") == 1024);
  CHECK(table.number(row, "p10_us") == doctest::Approx(104));
  CHECK(table.number(row, "p50_us") == doctest::Approx(120));
  CHECK(table.number(row, "algbw_gbytes_per_s") == doctest::Approx(4096 / 120.0 * 1e-3));
  CHECK(table.number(row, "busbw_gbytes_per_s") == doctest::Approx(1.5 * 4096 / 120.0 * 1e-3));
  CHECK(table.number(row, "wrong") == 2);
  CHECK(table.text(row, "source") == "sweep");
  CHECK(found.facts.at("sweep") == "live");
  CHECK(*found.metrics.value("fabric.all_reduce.wrong_results", "all") == 2);
}

TEST_CASE("bus bandwidth is defined for each operation as nccl-tests does") {
  CHECK(bus_factor("all_reduce", 8) == doctest::Approx(1.75));
  for (const char* operation : {"all_gather", "reduce_scatter", "all_to_all"})
    CHECK(bus_factor(operation, 8) == doctest::Approx(0.875));
  for (const char* operation : {"broadcast", "reduce", "send_recv"}) CHECK(bus_factor(operation, 8) == 1);
  CHECK(std::isnan(bus_factor("hypercube", 8)));
  CHECK(std::isnan(bus_factor("all_reduce", kNotMeasured)));
}

TEST_CASE("a line through noisy calls: its coefficients, half size and shares, with intervals around the truth") {
  const Inputs inputs = test::live_sweep("all_reduce", startup_and_bytes, {.noise = 0.05});
  const Conclusions found = conclude(inputs);
  const SeriesTable fit(found.series.at("fabric_fit"));
  REQUIRE(fit.rows().size() == 1);
  const auto& row = fit.rows()[0];
  CHECK(fit.number(row, "alpha_us") == doctest::Approx(40).epsilon(0.05));
  CHECK(*fit.number(row, "alpha_p05") < 41);
  CHECK(*fit.number(row, "alpha_p95") > 39);
  CHECK(fit.number(row, "us_per_mib") == doctest::Approx(1048.6).epsilon(0.05));
  CHECK(fit.number(row, "bandwidth_gbytes_per_s") == doctest::Approx(1).epsilon(0.05));
  CHECK(*fit.number(row, "mape_percent") < 10);
  CHECK(*found.metrics.value("fabric.all_reduce.alpha_us", "all") == doctest::Approx(40).epsilon(0.05));
  CHECK(*found.metrics.value("fabric.all_reduce.half_size_bytes", "all") == doctest::Approx(40000).epsilon(0.1));
  const SeriesTable rows(found.series.at("sweep.all_reduce"));
  CHECK(rows.number(rows.rows().front(), "startup_share_percent") == doctest::Approx(97.5).epsilon(0.02));
  CHECK(rows.number(rows.rows().back(), "startup_share_percent") == doctest::Approx(3.7).epsilon(0.1));
}

TEST_CASE("a switch of protocols is a segment of its own, and costs come from the segment of the size") {
  const Conclusions found = conclude(test::live_sweep("all_reduce", two_protocols, {.noise = 0.01}));
  REQUIRE(found.series.at("fabric_fit").rows.size() == 2);
  const FabricFit fit = *fabric_fit_of(found.series);
  CHECK(*cost_us(fit, "all_reduce", 8192) == doctest::Approx(two_protocols(8192)).epsilon(0.03));
  CHECK(*cost_us(fit, "all_reduce", 300000) == doctest::Approx(two_protocols(300000)).epsilon(0.03));
  CHECK(fabric_cost(fit, "all_reduce", 65536)->startup_share() == doctest::Approx(60 / 66.6).epsilon(0.05));
}

TEST_CASE("nothing is said more than four times outside of the sizes, nor for an operation that was not measured") {
  const FabricFit fit{"", "", 2, {{"all_gather", {{1024, 4096, 10, 1e-3}, {8192, 65536, 20, 1e-4}}}}};
  CHECK(cost_us(fit, "all_gather", 256) == doctest::Approx(10.256));
  CHECK_FALSE(cost_us(fit, "all_gather", 255));
  CHECK(cost_us(fit, "all_gather", 262144) == doctest::Approx(46.2144));
  CHECK_FALSE(cost_us(fit, "all_gather", 262145));
  CHECK(cost_us(fit, "all_gather", 5000) == doctest::Approx(15));  // between two segments: the nearer one
  CHECK(cost_us(fit, "all_gather", 7000) == doctest::Approx(20.7));
  CHECK_FALSE(cost_us(fit, "all_reduce", 4096));
  CHECK(*startup_us(fit, "all_gather", 32768) == doctest::Approx(20));  // a job counts the part per rank: 65536 here
  CHECK_FALSE(startup_us(fit, "all_gather", 1e6));
}

TEST_CASE("where the spread is wide the fast calls are fitted: the fabric, not the host") {
  const Conclusions quiet = conclude(test::live_sweep("all_reduce", startup_and_bytes, {.noise = 0.03}));
  CHECK(std::get<std::string>(quiet.series.at("fabric_fit").rows[0].back()) == "p50");
  const Conclusions busy = conclude(test::live_sweep("all_reduce", startup_and_bytes, {.repeats = 20, .noise = 0.3}));
  CHECK(std::get<std::string>(busy.series.at("fabric_fit").rows[0].back()) == "p10");
}

TEST_CASE("samples beside a load are a curve of their own and speak for nothing else") {
  Inputs inputs = test::live_sweep("all_reduce", startup_and_bytes, {.noise = 0.01});
  test::add_live(inputs, "all_reduce", [](double bytes) { return 5 * startup_and_bytes(bytes); },
                 {.noise = 0.01, .load = "gemm"});
  const Conclusions found = conclude(inputs);
  REQUIRE(found.series.at("fabric_fit").rows.size() == 2);
  CHECK(*cost_us(*fabric_fit_of(found.series), "all_reduce", 65536) ==
        doctest::Approx(startup_and_bytes(65536)).epsilon(0.03));
  CHECK(*found.metrics.value("fabric.all_reduce.alpha_us", "all") == doctest::Approx(40).epsilon(0.05));
}

TEST_CASE("halves beside floats: a curve of their own to price by, and nothing else is said of the fabric") {
  const auto slower = [](double bytes) { return 40 + bytes * 5e-3; };
  const test::SweepShape few{.first_bytes = 4096, .sizes = 5, .repeats = 4, .noise = 0.01, .type = "half"};
  const Inputs floats = test::live_sweep("all_reduce", startup_and_bytes, {.noise = 0.01});
  Inputs both = floats;
  test::add_live(both, "all_reduce", slower, few);
  const Conclusions found = conclude(both);
  const FabricFit fit = *fabric_fit_of(found.series);
  CHECK(*cost_us(fit, "all_reduce", 65536) == doctest::Approx(startup_and_bytes(65536)).epsilon(0.03));
  CHECK(fabric_cost_of(fit, kHalf, "all_reduce", 65536)->us == doctest::Approx(slower(65536)).epsilon(0.03));
  CHECK_FALSE(fabric_cost_of(fit, kHalf, "all_reduce", 1 << 20));  // four times beyond 64 KiB
  CHECK_FALSE(fabric_cost_of(fit, kHalf, "all_gather", 65536));
  CHECK(*cost_us(preferring(fit, kHalf), "all_reduce", 65536) == doctest::Approx(slower(65536)).epsilon(0.03));
  CHECK(*cost_us(preferring(fit, "int8"), "all_reduce", 65536) == *cost_us(fit, "all_reduce", 65536));
  const Conclusions without = conclude(floats);
  for (const char* metric : {"alpha_us", "half_size_bytes", "bandwidth_gbytes_per_s"})
    CHECK(found.metrics.value(std::string("fabric.all_reduce.") + metric, "all") ==
          without.metrics.value(std::string("fabric.all_reduce.") + metric, "all"));

  Inputs halves;
  test::add_live(halves, "all_reduce", slower, few);  // without floats they stand for the operation
  CHECK(*cost_us(*fabric_fit_of(conclude(halves).series), "all_reduce", 65536) ==
        doctest::Approx(slower(65536)).epsilon(0.03));
  CHECK(conclude(halves).metrics.find("fabric.all_reduce.bandwidth_gbytes_per_s", "all") != nullptr);
}

TEST_CASE("types of a log have other words; floats of any source stand before them") {
  Series rows{
      "fabric_fit",
      {"operation", "type", "load", "from_bytes", "to_bytes", "alpha_us", "us_per_mib", "mape_percent", "source"},
      {{"all_reduce", "float16", "", std::int64_t{1024}, std::int64_t{4096}, 9.0, 0.0, 2.0, "a.log"},
       {"all_reduce", "float32", "", std::int64_t{1024}, std::int64_t{4096}, 40.0, 0.0, 2.0, "b.log"}}};
  const FabricFit fit = *fabric_fit_of({{"fabric_fit", rows}});
  CHECK(cost_us(fit, "all_reduce", 2048) == 40);
  CHECK(fabric_cost_of(fit, kFloat, "all_reduce", 2048)->us == 40);
  CHECK(fabric_cost_of(fit, kHalf, "all_reduce", 2048)->us == 9);
}

TEST_CASE("a fit that is far off is shown and used for nothing") {
  int i = 0;
  const Conclusions found =
      conclude(test::log_sweep("all_reduce", [&i](double) { return i++ % 2 == 0 ? 100.0 : 700.0; }));
  CHECK_FALSE(found.series.at("fabric_fit").rows.empty());
  CHECK_FALSE(fabric_fit_of(found.series));
  CHECK_FALSE(found.metrics.value("fabric.all_reduce.alpha_us", "all"));
  const SeriesTable rows(found.series.at("sweep.all_reduce"));
  CHECK_FALSE(rows.number(rows.rows().front(), "startup_share_percent"));
}

TEST_CASE("a sweep of large messages alone does not tell the start-up") {
  const Conclusions found =
      conclude(test::live_sweep("all_reduce", startup_and_bytes, {.first_bytes = 1 << 20, .sizes = 6, .noise = 0.001}));
  CHECK_FALSE(found.series.at("fabric_fit").rows.empty());
  CHECK_FALSE(found.metrics.value("fabric.all_reduce.alpha_us", "all"));
  CHECK_FALSE(found.metrics.value("fabric.all_reduce.half_size_bytes", "all"));
}

}  // namespace gradsync
