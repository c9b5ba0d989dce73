// Closed forms against worked numbers, and the table of who beats a dense all-reduce from where on.
#include <doctest/doctest.h>

#include <cmath>

#include "analyzers/analyzers.h"
#include "analyzers/closed_form.h"
#include "analyzers/load_cost.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

constexpr double kElements = 25.557e6;  // ResNet-50

Links links(double hop_us, double gbytes_per_s) { return {hop_us, 1e-3 / gbytes_per_s}; }
double ms(double us) { return us * 1e-3; }

Conclusions table_of(const FabricFit& fit, const std::vector<LoadProfile>& loads) {
  Inputs inputs;
  inputs.fabric = fit;
  inputs.loads = loads;
  Conclusions conclusions;
  make_break_even()->conclude(Summary{}, inputs, conclusions);
  return conclusions;
}

// A ring of `ranks` over 10 GB/s links with 5 µs a hop, as it would be measured.
FabricFit ring(int ranks) {
  const double n = ranks;
  return {"",
          "nccl",
          ranks,
          {{"all_reduce", {{1024, 1 << 30, 2 * (n - 1) * 5, 2 * (n - 1) / n * 1e-4}}},
           {"all_gather", {{1024, 1 << 30, (n - 1) * 5, (n - 1) / n * 1e-4}}}}};
}

}  // namespace

TEST_CASE("against half precision by its own curve, where there is one") {
  FabricFit fit = ring(8);
  const std::vector<LoadProfile> loads{{"topk_select", "cuda", 1 << 24, 0, 0.1 + 1.6777216, 0}};
  const auto ranks = [&](std::size_t row) {
    const Conclusions found = table_of(fit, loads);
    const SeriesTable table(found.series.at("break_even"));
    return table.number(table.rows()[row], "max_ranks");
  };
  const auto against_floats = ranks(0), against_halves = ranks(1);
  REQUIRE(against_halves);
  fit.types["half"]["all_reduce"] = fit.operations["all_reduce"];
  CHECK(ranks(1) == against_halves);
  fit.types["half"]["all_reduce"][0].beta_us_per_byte *= 2;  // halves take as long as floats
  CHECK(ranks(0) == against_floats);
  CHECK(*ranks(1) > *against_halves);
}

TEST_CASE("two nodes of eight GPUs, 5 µs a hop, 11 GB/s") {
  const Links here = links(5, 11);
  CHECK(ms(ring_all_reduce_us(here, 4 * kElements, 16)) == doctest::Approx(17.58).epsilon(1e-3));
  CHECK(ms(two_node_tree_us(here, 4 * kElements)) == doctest::Approx(9.29).epsilon(1e-3));
  CHECK(ms(ring_all_reduce_us(here, 2 * kElements, 16)) == doctest::Approx(8.86).epsilon(1e-3));
  CHECK(ms(two_node_tree_us(here, 2 * kElements)) == doctest::Approx(4.65).epsilon(1e-3));
  CHECK(ms(all_gather_us(here, 0.02 * kElements * 12, 16)) == doctest::Approx(8.44).epsilon(1e-3));
  CHECK(ms(all_gather_us(here, 0.02 * kElements * 8, 16)) == doctest::Approx(5.65).epsilon(1e-3));
  CHECK(ms(all_gather_us(here, 0.001 * kElements * 12, 16)) == doctest::Approx(0.49).epsilon(1e-2));
  CHECK(ms(all_gather_us(here, kElements / 8, 16)) == doctest::Approx(4.43).epsilon(1e-3));
  CHECK(ms(all_to_all_and_gather_us(here, kElements / 8, 16, 8)) == doctest::Approx(1.58).epsilon(4e-3));
}

TEST_CASE("eight GPUs on NVLink, and eight nodes on 25 Gbit/s") {
  const Links nvlink = links(3, 230), ethernet = links(15, 2.9);
  CHECK(ms(ring_all_reduce_us(nvlink, 4 * kElements, 8)) == doctest::Approx(0.82).epsilon(5e-3));
  CHECK(ms(ring_all_reduce_us(nvlink, 2 * kElements, 8)) == doctest::Approx(0.43).epsilon(5e-3));
  CHECK(ms(all_gather_us(nvlink, 0.02 * kElements * 12, 8)) == doctest::Approx(0.21).epsilon(2e-2));
  CHECK(ms(ring_all_reduce_us(ethernet, 4 * kElements, 8)) == doctest::Approx(61.90).epsilon(1e-3));
  CHECK(ms(ring_all_reduce_us(ethernet, 2 * kElements, 8)) == doctest::Approx(31.05).epsilon(1e-3));
  CHECK(ms(all_gather_us(ethernet, 0.02 * kElements * 12, 8)) == doctest::Approx(14.91).epsilon(1e-3));
  CHECK(ms(all_to_all_and_gather_us(ethernet, kElements / 8, 8, 1)) == doctest::Approx(2.14).epsilon(2e-3));
}

TEST_CASE("ranks up to which a selection moves fewer bytes") {
  CHECK(std::floor(break_even_ranks(4, 0.02, 12)) == 33);
  CHECK(std::round(break_even_ranks(4, 0.01, 12)) == 67);
  CHECK(std::round(break_even_ranks(4, 0.001, 12)) == 667);
  CHECK(std::round(break_even_ranks(2, 0.02, 12)) == 17);
  CHECK(std::floor(break_even_ranks(2, 0.01, 12)) == 33);
}

TEST_CASE("a measured segment and the links that explain it give the same cost") {
  const FabricFit fit = ring(8);
  const FabricSegment reduce = fit.operations.at("all_reduce")[0], gather = fit.operations.at("all_gather")[0];
  CHECK(ring_all_reduce_us(links_of_all_reduce(reduce, 8), 1e6, 8) ==
        doctest::Approx(reduce.alpha_us + 1e6 * reduce.beta_us_per_byte));
  CHECK(all_gather_us(links_of_all_gather(gather, 8), 1e6 / 8, 8) ==
        doctest::Approx(gather.alpha_us + 1e6 * gather.beta_us_per_byte));
}

TEST_CASE("the table: sizes from the measured curve, ranks from closed forms") {
  // Top-K of 1 %, 0.1 ms and 0.1 ns an element: dense is 70 + 0.7 n µs per thousand elements.
  const std::vector<LoadProfile> loads{{"topk_select", "cuda", 1 << 16, 0, 0.1 + 65536e-7, 0},
                                       {"topk_select", "cuda", 1 << 24, 0, 0.1 + 1.6777216, 0},
                                       {"a_new_one", "cuda", 1 << 24, 0, 1, 0}};
  const Conclusions found = table_of(ring(8), loads);
  const SeriesTable table(found.series.at("break_even"));
  REQUIRE(table.rows().size() == 2);
  const auto& row = table.rows()[0];
  CHECK(table.text(row, "against") == "fp32 all_reduce");
  CHECK(table.number(row, "ranks") == 8);
  // The compressor is interpolated by a power law: it wins by far at the largest size, and not at the smallest.
  CHECK(*table.number(row, "min_bytes") > 4.0 * (1 << 16));
  CHECK(*table.number(row, "min_bytes") < 4.0 * (1 << 20));
  // Bytes alone would allow 100 ranks; the time of the selection takes some of them.
  CHECK(*table.number(row, "max_ranks") < break_even_ranks(4, 0.01, 8));
  CHECK(*table.number(row, "max_ranks") > 50);
  CHECK(table.text(row, "basis") == "measured curve; closed form for other ranks");
  const auto& half = table.rows()[1];
  CHECK(table.text(half, "against") == "fp16 all_reduce");
  CHECK(*table.number(half, "max_ranks") < break_even_ranks(2, 0.01, 8));
}

TEST_CASE("a compressor that is slower than the wire never wins; a cast has no limit of ranks") {
  const Conclusions slow = table_of(ring(8), {{"topk_sort", "cpu", 1 << 24, 0, 900, 0}});
  const SeriesTable table(slow.series.at("break_even"));
  CHECK_FALSE(table.number(table.rows()[0], "min_bytes"));
  CHECK_FALSE(table.number(table.rows()[0], "max_ranks"));
  const Conclusions cast = table_of(ring(8), {{"cast16", "cuda", 1 << 24, 0, 0.1, 0}});
  const SeriesTable casts(cast.series.at("break_even"));
  CHECK(casts.number(casts.rows()[0], "min_bytes") == 4.0 * (1 << 24));
  CHECK_FALSE(casts.number(casts.rows()[0], "max_ranks"));
  CHECK_FALSE(casts.number(casts.rows()[1], "min_bytes"));  // against fp16 it saves nothing
}

// 1e6 elements, one millisecond to compress, two for the payloads of four ranks.
LoadProfile profile(const std::string& algorithm, std::int64_t wire_bytes, double ratio) {
  return {algorithm, "cpu", 1 << 20, 0.9, 1, 1.4, LoadTimes{1.6, 2, 3}, 4, wire_bytes, ratio};
}

TEST_CASE("a load between and beyond the sizes that were measured") {
  const LoadCurve load({{"cast16", "cpu", 1000, 1, 2, 4}, {"cast16", "cpu", 100'000, 10, 20, 40}}, "cast16", "cpu");
  CHECK(load.own_ms(10'000) == doctest::Approx(std::sqrt(40)));
  CHECK(load.own_ms(10) == 2);        // never below the smallest
  CHECK(load.own_ms(200'000) == 40);  // as many again
  CHECK(load.own_ms(1000, 0) == 1);
  CHECK(load.own_ms(1000, 1) == 4);
  CHECK_FALSE(load.decode_ms(1000, 4));  // an old profile
  CHECK(load.both_ms(1000, 4) == 2);
  CHECK(load.wire_bytes(1000) == 2000);
}

TEST_CASE("decoding grows with the payloads that are gathered, not with those that were summed") {
  const LoadCurve topk({profile("topk_select", 8 * 20'972, 0.02)}, "topk_select", "cpu");
  CHECK(topk.decode_ms(1 << 20, 16) == 8);
  CHECK(topk.both_ms(1 << 20, 16) == 9);
  CHECK(topk.wire_bytes(1 << 21) == 2 * 8 * 20'972);  // the share of the profile, not an assumed one
  CHECK(LoadCurve({profile("topk_select", 0, 0.02)}, "topk_select", "cpu").wire_bytes(1e6) == doctest::Approx(16e4));
  const LoadCurve cast({profile("cast16", 2 << 20, 0)}, "cast16", "cpu");
  CHECK(cast.decode_ms(1 << 20, 16) == 0.5);
}

TEST_CASE("factors travel twice and grow with the root; a server's link carries every push and pull") {
  const LoadCurve factors({profile("powersgd", 32 << 10, 0)}, "powersgd", "cpu");
  CHECK(factors.wire_bytes(4 << 20) == 2 * (32 << 10));
  const FabricFit fit = ring(8);
  CHECK(*exchange_us(fit, Travel::factors, 1e6) == doctest::Approx(2 * (70 + 1.75e-4 * 5e5)));
  CHECK(*exchange_us(fit, Travel::served, 1e6) == doctest::Approx(2 * (5 + 8 * 100)));
  CHECK(closed_exchange_us(fit, Travel::served, 1e6, 16) == doctest::Approx(2 * (5 + 16 * 100)));
  CHECK_FALSE(exchange_us(fit, Travel::factors, 100));  // more than four times below the sweep
}

TEST_CASE("rows for factors, reconstruction and a server; a decoder's time is its decoding") {
  const Conclusions found = table_of(ring(8), {profile("powersgd", 32 << 10, 0), profile("scatter", 8 << 13, 0.01),
                                               profile("param_server", 4 << 20, 0)});
  const SeriesTable table(found.series.at("break_even"));
  REQUIRE(table.rows().size() == 6);
  CHECK(table.text(table.rows()[0], "algorithm") == "param_server");
  CHECK_FALSE(table.number(table.rows()[0], "min_bytes"));  // eight dense pushes over one link
  CHECK(table.text(table.rows()[2], "algorithm") == "powersgd");
  CHECK(LoadCurve({profile("scatter", 8 << 13, 0.01)}, "scatter", "cpu").both_ms(1 << 20, 8) == 4);
}

TEST_CASE("no table without loads, without a fabric, or without its all-reduce") {
  CHECK(table_of(ring(8), {}).series.empty());
  FabricFit gather_only = ring(8);
  gather_only.operations.erase("all_reduce");
  CHECK(table_of(gather_only, {{"cast16", "cuda", 1 << 24, 0, 0.1, 0}}).series.empty());
}

}  // namespace gradsync
