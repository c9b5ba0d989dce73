// A job's messages on a known fabric: start-up share, cost of a cliff, advice; and when nothing may be said.
#include <doctest/doctest.h>

#include <cmath>

#include "analyzers/analyzers.h"

namespace gradsync {
namespace {

// 50 µs and 1 GB/s: half of the time is start-up at 50 000 bytes, a tenth at 450 000.
FabricFit fabric(int ranks = 4) {
  return {
      "", "gloo", ranks, {{"all_reduce", {{1024, 64 << 20, 50, 1e-3}}}, {"all_gather", {{1024, 64 << 20, 30, 1e-3}}}}};
}

Inputs job(const std::vector<std::tuple<const char*, std::int64_t, double>>& messages, int ranks = 4) {
  Inputs inputs;
  inputs.fabric = fabric();
  inputs.facts["overlay.ranks"] = std::to_string(ranks);
  Series& series = inputs.series["messages"];
  series.columns = {"group", "op", "bytes", "count_per_step", "total_ms", "exposed_ms"};
  for (const auto& [operation, bytes, count] : messages)
    series.rows.push_back({std::string("dp"), std::string(operation), bytes, count, 1.0, 1.0});
  return inputs;
}

Conclusions lay(const Inputs& inputs) {
  Conclusions conclusions;
  make_overlay()->conclude(Summary{}, inputs, conclusions);
  return conclusions;
}

double value(const Conclusions& found, const char* name, const char* scope = "all") {
  const auto measured = found.metrics.value(name, scope);
  REQUIRE_MESSAGE(measured, name);
  return *measured;
}

}  // namespace

TEST_CASE("shares are weighted by time: many small messages and one large one") {
  // 90 × (50 + 10) µs = 5400, of which 4500 start-up; 1 × (50 + 10000) µs
  const Conclusions found = lay(job({{"all_reduce", 10'000, 90}, {"all_reduce", 10'000'000, 1}}));
  CHECK(value(found, "fabric.alpha_share_percent") == doctest::Approx(100 * 4550.0 / 15450));
  CHECK(value(found, "fabric.alpha_share_percent", "group:dp") == doctest::Approx(100 * 4550.0 / 15450));
  CHECK(value(found, "overlay.startup_messages_percent") == doctest::Approx(100 * 90.0 / 91));
  CHECK(value(found, "overlay.startup_time_percent") == doctest::Approx(100 * 5400.0 / 15450));
  CHECK(value(found, "overlay.time_ms") == doctest::Approx(15.45));
  CHECK(value(found, "overlay.covered_percent") == doctest::Approx(100));
  CHECK(found.facts.at("advice.bucket_cap_mb") == "1");
  REQUIRE(found.series.at("job_on_fabric").rows.size() == 2);
  CHECK(std::get<double>(found.series.at("job_on_fabric").rows[0][4]) == doctest::Approx(60));
  CHECK_FALSE(found.metrics.value("overlay.cliff_ms", "all"));  // nobody looked for cliffs
  CHECK(std::isnan(std::get<double>(found.series.at("job_on_fabric").rows[0][6])));
}

TEST_CASE("an all-gather's message is one rank's part of what the sweep counts") {
  const Conclusions found = lay(job({{"all_gather", 10'000, 1}}));
  CHECK(value(found, "fabric.alpha_share_percent") == doctest::Approx(100 * 30.0 / 70));
  CHECK_FALSE(found.facts.contains("advice.bucket_cap_mb"));
}

TEST_CASE("a cliff costs what the messages inside its span lose, and no bucket is advised into it") {
  Inputs inputs = job({{"all_reduce", 2 << 20, 3}, {"all_reduce", 16 << 10, 10}});
  Series& cliffs = inputs.series["fabric_cliffs"];
  cliffs.columns = {"operation", "type", "load", "answer", "from_bytes", "to_bytes", "drop_percent", "until_bytes"};
  const auto cliff = [&](std::int64_t from, std::int64_t until, const char* load) {
    cliffs.rows.push_back({std::string("all_reduce"), std::string("float"), std::string(load), std::string("cliff"),
                           from / 2, from, 40.0, until});
  };
  cliff(1 << 20, 2 << 20, "");
  cliff(8 << 10, 16 << 10, "gemm");  // beside a load: not this fabric's
  const Conclusions found = lay(inputs);
  CHECK(value(found, "overlay.cliff_ms") == doctest::Approx(3 * 0.4 * (50 + (2 << 20) * 1e-3) * 1e-3));
  CHECK(found.facts.at("advice.bucket_cap_mb") == "4");
}

TEST_CASE("a cliff that lasts to the largest size is not known to end: no bucket is advised behind it") {
  Inputs inputs = job({{"all_reduce", 16 << 10, 10}});
  Series& cliffs = inputs.series["fabric_cliffs"];
  cliffs.columns = {"operation", "type", "load", "answer", "from_bytes", "to_bytes", "drop_percent", "until_bytes"};
  cliffs.rows = {{std::string("all_reduce"), std::string("float"), std::string(), std::string("cliff"),
                  std::int64_t{256 << 10}, std::int64_t{512 << 10}, 40.0, std::int64_t{64 << 20}}};
  CHECK_FALSE(lay(inputs).facts.contains("advice.bucket_cap_mb"));
}

TEST_CASE("messages that nobody measured are counted as not covered, and cost nothing known") {
  const Conclusions found = lay(job({{"all_reduce", 10'000, 1}, {"all_to_all", 10'000, 1}, {"all_reduce", 8, 2}}));
  CHECK(value(found, "overlay.covered_percent") == doctest::Approx(25));
  CHECK(value(found, "fabric.alpha_share_percent") == doctest::Approx(100 * 50.0 / 60));
}

TEST_CASE("a curve of other ranks says nothing about this job") {
  const Conclusions found = lay(job({{"all_reduce", 10'000, 90}}, 8));
  CHECK(found.metrics.all().empty());
  REQUIRE(found.coverage.size() == 1);
  CHECK(found.coverage[0].reason == "it was measured with 4 ranks, the job has 8");
  CHECK(found.coverage[0].hint == "gradsync-doctor sweep --ranks 8");
}

TEST_CASE("without a fabric, or without messages, there is nothing to lay") {
  Inputs inputs = job({{"all_reduce", 10'000, 90}});
  inputs.fabric.reset();
  CHECK(lay(inputs).metrics.all().empty());
  inputs.fabric = fabric();
  inputs.series.clear();
  CHECK(lay(inputs).metrics.all().empty());
}

}  // namespace gradsync
