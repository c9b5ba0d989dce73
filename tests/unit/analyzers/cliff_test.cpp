// Cliffs: sweeps whose truth is known in, one of six answers out; and how often the answer is wrong.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "analyzers/analyzers.h"
#include "analyzers/find_cliffs.h"
#include "src/base/rank_test.h"
#include "src/model/series_table.h"
#include "tests/unit/analyzers/sweeps.h"

namespace gradsync {
namespace {

using test::Microseconds;

double plain(double bytes) { return 5 + bytes / 8e3; }
double saturated(double bytes) { return bytes / 8e3; }
double to_two(double bytes) { return bytes / (bytes < 65536 ? 8e3 : 2e3); }
double by_28_percent(double bytes) { return bytes / (bytes < 65536 ? 8e3 : 0.72 * 8e3); }
double delayed_relay(double bytes) { return 5 + bytes / 8e3 + (bytes >= 32768 && bytes <= 65536 ? 60 : 0); }

struct Found {
  Conclusions conclusions;
  std::string answer(std::size_t row = 0) const { return text("answer", row); }
  std::string text(const char* column, std::size_t row = 0) const {
    const SeriesTable table(conclusions.series.at("fabric_cliffs"));
    return table.text(table.rows().at(row), column);
  }
  double number(const char* column, std::size_t row = 0) const {
    const SeriesTable table(conclusions.series.at("fabric_cliffs"));
    return table.number(table.rows().at(row), column).value_or(-1);
  }
  std::size_t rows() const { return conclusions.series.at("fabric_cliffs").rows.size(); }
};

Found answers_for(const Inputs& inputs) {
  Found found;
  make_cliff()->conclude(Summary{}, inputs, found.conclusions);
  return found;
}

struct Rates {
  double found = 0, false_alarms = 0;
};

// Trials of ten repeats; a cliff is found when a proved pair lies across 64 KiB, everything else is a false alarm.
Rates simulate(const Microseconds& us, double noise, int sizes, int trials) {
  Rates rates;
  for (int trial = 0; trial < trials; ++trial) {
    std::mt19937_64 random(static_cast<std::uint64_t>(trial) * 7919 + 5);
    std::normal_distribution<double> normal(0, noise);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<SizeSample> curve;
    for (int i = 0; i < sizes; ++i) {
      curve.push_back({std::int64_t{1024} << i, {}});
      for (int repeat = 0; repeat < 10; ++repeat) {
        double time = us(static_cast<double>(curve.back().bytes)) * std::exp(normal(random));
        if (uniform(random) < 0.05) time *= 1 + 3 * uniform(random);
        curve.back().us.push_back(time);
      }
    }
    bool here = false, elsewhere = false;
    for (const Cliff& cliff : test_for_cliffs(curve).proved)
      (curve[cliff.before].bytes < 65536 && curve[cliff.at].bytes >= 65536 ? here : elsewhere) = true;
    rates.found += here ? 1.0 / trials : 0;
    rates.false_alarms += elsewhere ? 1.0 / trials : 0;
  }
  return rates;
}

constexpr int kTrials = 1000;

}  // namespace

TEST_CASE("simulation: false alarms at most 0.5 % on curves without a cliff, whatever their shape") {
  const auto switching = [](double bytes) { return std::min(5 + bytes / 2e3, 12 + bytes / 8e3); };
  for (const int sizes : {11, 17})
    for (const double noise : {0.03, 0.08, 0.15}) {
      CAPTURE(sizes);
      CAPTURE(noise);
      for (const Microseconds& us : {Microseconds(plain), Microseconds(switching), Microseconds(saturated)}) {
        const Rates rates = simulate(us, noise, sizes, kTrials);
        CHECK(rates.found + rates.false_alarms <= 0.005);
      }
    }
}

TEST_CASE("simulation: power 0.99 on a fall from 8 to 2 GB/s, 0.90 on 28 % at 3 to 8 % noise, with ten repeats") {
  for (const int sizes : {11, 17}) {
    CAPTURE(sizes);
    for (const double noise : {0.03, 0.08, 0.15}) {
      const Rates rates = simulate(to_two, noise, sizes, kTrials);
      CHECK(rates.found >= 0.99);
      CHECK(rates.false_alarms <= 0.005);
    }
    for (const double noise : {0.03, 0.08}) CHECK(simulate(by_28_percent, noise, sizes, kTrials).found >= 0.90);
  }
}

TEST_CASE("a proved cliff: where, how much, how sure, and how far it reaches") {
  const Found found = answers_for(test::live_sweep("all_reduce", to_two));
  REQUIRE(found.rows() == 1);
  CHECK(found.answer() == "cliff");
  CHECK(found.number("from_bytes") == 32768);
  CHECK(found.number("to_bytes") == 65536);
  CHECK(found.number("until_bytes") == 1 << 20);  // bandwidth never comes back
  CHECK(found.number("drop_percent") == doctest::Approx(75).epsilon(0.05));
  CHECK(found.number("drop_p05") < 75);
  CHECK(found.number("drop_p95") > 75);
  CHECK(found.number("p_value") < kFamilyLevel);
  CHECK(found.text("severity") == "severe");
  CHECK(*found.conclusions.metrics.value("fabric.all_reduce.cliff_percent", "all") == found.number("drop_percent"));
  CHECK(*found.conclusions.metrics.value("fabric.cliff_percent", "all") == found.number("drop_percent"));
  CHECK(found.conclusions.facts.at("sweep.cliff") == "cliff");
  CHECK(found.conclusions.facts.at("sweep.cliff.where") == "all_reduce of 32 KiB … 64 KiB");
}

TEST_CASE("messages that a relay delays are a cliff there and nowhere else, and the span ends behind them") {
  const Found found = answers_for(test::live_sweep("all_reduce", delayed_relay, {.sizes = 17}));
  REQUIRE(found.rows() == 1);
  CHECK(found.answer() == "cliff");
  CHECK(found.number("from_bytes") == 16384);
  CHECK(found.number("to_bytes") == 32768);
  CHECK(found.number("until_bytes") == 65536);
}

TEST_CASE("no cliff comes with the drop that would have been seen, and that much would have been") {
  const Found found = answers_for(test::live_sweep("all_reduce", plain, {.repeats = 20}));
  REQUIRE(found.rows() == 1);
  CHECK(found.answer() == "no cliff");
  const double seen = found.number("drop_percent");
  CHECK(seen >= 12);
  CHECK(seen <= 50);
  const Metric* metric = found.conclusions.metrics.find("fabric.cliff_percent", "all");
  REQUIRE(metric != nullptr);
  CHECK(metric->value == 0);
  CHECK(*metric->resolution == seen);
  int proved = 0;
  constexpr int kOther = 100;
  for (std::uint64_t seed = 2; seed < 2 + kOther; ++seed) {
    // The step between 32 and 64 KiB, where a byte became cheaper, is the drop instead.
    const double step = plain(32768) * 2 / plain(65536) / (1 - seen / 100);
    const auto dropped = [step](double bytes) { return plain(bytes) * (bytes < 65536 ? 1 : step); };
    const Inputs inputs = test::live_sweep("all_reduce", dropped, {.repeats = 20, .seed = seed});
    proved += test_for_cliffs(fabric_curves(inputs.series, 2)[0].sizes).proved.empty() ? 0 : 1;
  }
  CHECK(proved >= 0.9 * kOther);
}

TEST_CASE("undecided: few repeats on a noisy machine; the sizes to repeat, and none once it is decided") {
  const auto wild = test::SweepShape{.repeats = 9, .noise = 0.35};
  const Found found = answers_for(test::live_sweep("all_reduce", saturated, wild));
  CHECK(found.answer() == "undecided");
  CHECK(found.conclusions.facts.at("sweep.prove").find("sweep --op all_reduce --min ") != std::string::npos);
  CHECK(found.conclusions.metrics.all().empty());
  const auto sizes = [](const Inputs& inputs) { return fabric_curves(inputs.series, 2)[0].sizes; };
  CHECK_FALSE(sizes_to_repeat(sizes(test::live_sweep("all_reduce", saturated, wild))).empty());
  CHECK(sizes_to_repeat(sizes(test::live_sweep("all_reduce", to_two))).empty());
  CHECK(sizes_to_repeat(sizes(test::live_sweep("all_reduce", saturated, {.repeats = 20, .noise = 0.02}))).empty());
  Inputs two = test::live_sweep("all_reduce", saturated, wild);
  test::add_live(two, "all_gather", to_two);
  CHECK(undecided_sizes(two.series).size() == 1);
  CHECK(undecided_sizes(two.series).contains("all_reduce"));
  std::vector<SizeSample> one_short = sizes(test::live_sweep("all_reduce", to_two));
  one_short[3].us.resize(6);
  CHECK(sizes_to_repeat(one_short) == std::vector<std::int64_t>{one_short[3].bytes});
}

TEST_CASE("calls of one size that jump are unstable, not a cliff") {
  Inputs inputs;
  int call = 0;
  test::add_live(inputs, "all_reduce",
                 [&call](double bytes) { return bytes < 16384 && ++call % 2 == 0 ? 6 * plain(bytes) : plain(bytes); },
                 {.noise = 0.02});
  // add_live asks for the time once for each call
  const Found found = answers_for(inputs);
  CHECK(found.answer() == "unstable");
  CHECK(found.number("from_bytes") == 1024);
  CHECK(found.number("to_bytes") == 8192);
  CHECK_FALSE(found.conclusions.metrics.value("fabric.cliff_percent", "all"));
}

TEST_CASE("where a host-staged backend outgrows a cache, that is the answer") {
  Inputs inputs = test::live_sweep("all_reduce", to_two);
  inputs.facts["backend"] = std::string("gloo");
  inputs.facts["host.l2_bytes"] = std::string("65536");
  const Found found = answers_for(inputs);
  CHECK(found.answer() == "cache-capacity");
  CHECK(found.text("cause") == "the buffers outgrow the level-2 cache of 64 KiB there");
  CHECK(*found.conclusions.metrics.value("fabric.cliff_percent", "all") == 0);
  inputs.facts["host.l2_bytes"] = std::string("1048576");  // far away
  CHECK(answers_for(inputs).answer() == "cliff");
  inputs.facts["host.l2_bytes"] = std::string("65536");
  inputs.facts["backend"] = std::string("nccl");  // sends from the device's memory
  CHECK(answers_for(inputs).answer() == "cliff");
}

TEST_CASE("a cliff where NCCL switches its protocol is a tuning cliff") {
  Inputs inputs = test::live_sweep("all_reduce", to_two);
  Series& choices = inputs.series["nccl_choices"];
  choices.columns = {"operation", "bytes", "algorithm", "protocol", "channels", "count"};
  const auto add = [&choices](std::int64_t bytes, const char* protocol) {
    choices.rows.push_back({std::string("all_reduce"), bytes, std::string("Ring"), std::string(protocol),
                            std::int64_t{2}, std::int64_t{10}});
  };
  add(32768, "LL");
  add(65536, "Simple");
  const Found found = answers_for(inputs);
  CHECK(found.answer() == "cliff");
  CHECK(found.text("cause") == "NCCL switches from Ring/LL to Ring/Simple there");
  CHECK(found.conclusions.facts.at("sweep.cliff.kind") == "tuning");
  std::get<std::string>(choices.rows[1][3]) = "LL";
  CHECK(answers_for(inputs).conclusions.facts.at("sweep.cliff.kind") == "fabric");
}

TEST_CASE("a log with a drop in both places is suspected, with the command that would prove it") {
  const auto planted = [](double bytes) { return 18 + bytes / (bytes < 65536 ? 9e3 : 1.2e3); };
  const Found found = answers_for(test::log_sweep("all_reduce", planted));
  REQUIRE(found.rows() == 1);
  CHECK(found.answer() == "suspected");
  CHECK(found.number("from_bytes") == 32768);
  CHECK(found.number("to_bytes") == 65536);
  CHECK(found.number("drop_percent") >= 25);
  CHECK(found.conclusions.facts.at("sweep.prove") ==
        "gradsync-doctor sweep --op all_reduce --min 8K --max 512K --repeat 20");
  CHECK_FALSE(found.conclusions.metrics.value("fabric.cliff_percent", "all"));
  CHECK(*found.conclusions.metrics.value("fabric.suspected_drop_percent", "all") >= 25);
}

TEST_CASE("one place, or one lucky size, is no suspicion; a log proves nothing, so it stays undecided") {
  const auto healthy = [](double bytes) { return 18 + bytes / 9e3; };
  const auto planted = [healthy](double bytes) { return bytes == 65536 ? 72 : healthy(bytes); };
  CHECK(answers_for(test::log_sweep("all_reduce", planted)).answer() == "suspected");
  CHECK(answers_for(test::log_sweep("all_reduce", planted, healthy)).answer() == "undecided");
  CHECK(answers_for(test::log_sweep("all_reduce", plain)).answer() == "undecided");
  const auto lucky = [](double bytes) { return bytes == 65536 ? 0.8 * plain(bytes) : plain(bytes); };
  CHECK(answers_for(test::log_sweep("all_reduce", lucky)).answer() == "undecided");
}

TEST_CASE("columns that jump against each other are unstable there, and what lies above is still looked at") {
  int calls = 0;
  const Microseconds jumping = [&calls](double bytes) {
    return 100 + (bytes < 32768 && ++calls % 3 == 0 ? 500 : 0) + bytes / (bytes < (8 << 20) ? 10e3 : 3e3);
  };
  const Found found = answers_for(test::log_sweep("all_reduce", jumping));
  REQUIRE(found.rows() == 2);
  CHECK(found.answer(0) == "suspected");
  CHECK(found.number("to_bytes", 0) == 8 << 20);
  CHECK(found.answer(1) == "unstable");
  CHECK(found.number("to_bytes", 1) < 32768);
}

TEST_CASE("a cliff beside a load is shown, and says nothing about the fabric alone") {
  Inputs inputs = test::live_sweep("all_reduce", plain, {.repeats = 20});
  test::add_live(inputs, "all_reduce", to_two, {.load = "gemm"});
  const Found found = answers_for(inputs);
  REQUIRE(found.rows() == 2);
  CHECK(found.conclusions.facts.at("sweep.cliff") == "no cliff");
  CHECK(*found.conclusions.metrics.value("fabric.cliff_percent", "all") == 0);
}

}  // namespace gradsync
