#include "src/commands/bench_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "src/commands/exit_status.h"
#include "src/diagnosis/rule_set.h"

using namespace gradsync;

namespace {

Spread at(double ms) { return {11, ms, 0.9 * ms, ms, 1.1 * ms, ms}; }

BenchRow row(const std::string& algorithm, BenchSize size, LoadKind kind) {
  return {.algorithm = algorithm,
          .size = size,
          .kind = kind,
          .compress_ms = at(2),
          .decompress_ms = at(5),
          .compress_traffic = {8e6, 2e6},
          .decompress_traffic = {1e6, 4e6},
          .compress_roofline_percent = 80,
          .decompress_roofline_percent = 40,
          .wire_bytes = 1000,
          .cosine = 0.3};
}

double value_of(const Report& report, const std::string& name) {
  for (const Metric& metric : report.metrics)
    if (metric.name == name) return metric.value;
  return -1;
}

}  // namespace

TEST_CASE("one size: medians with their spread; a decoder is told by its decompression") {
  BenchResult result;
  result.rows = {row("topk_select", {1'000'000, 1}, LoadKind::exact_selection),
                 row("scatter", {1'000'000, 1}, LoadKind::decoder)};
  result.checks = {{"scatter", {"V3", "round trip", true, "3 cases"}}};
  const Report report =
      bench_report({.library = &cpu_load_library(), .loads = {cpu_loads()[0], cpu_loads()[1]}}, result, {});
  CHECK(value_of(report, "load.topk_select.cpu.ms") == 2);
  CHECK(value_of(report, "load.topk_select.cpu.roofline_percent") == 80);
  CHECK(value_of(report, "load.scatter.cpu.ms") == 5);
  CHECK(value_of(report, "load.scatter.cpu.roofline_percent") == 40);
  CHECK(value_of(report, "load.scatter.wire_bytes") == 1000);
  CHECK(report.verdict.text == "2 loads do what they say: 1 checks passed.");
  CHECK(bench_status(result) == exit_status::kDone);

  const std::vector<LoadProfile> profiles = load_profiles({.library = &cpu_load_library(), .ranks = 2}, result);
  REQUIRE(profiles.size() == 2);
  CHECK(profiles[1].algorithm == "scatter");
  CHECK(profiles[1].elements == 1'000'000);
  CHECK(profiles[1].ms_p50 == 5);
  CHECK(profiles[1].ms_p90 == doctest::Approx(5.5));
  CHECK(profiles[0].decompress->p50 == 5);
  CHECK(profiles[0].ranks == 2);
  CHECK(profiles[0].wire_bytes == 1000);
  CHECK(profiles[0].ratio == 0.01);
  CHECK(profiles[1].roofline_percent == 40);
}

TEST_CASE("a GPU on which scattering is slow: the finding that says so, and none about a job") {
  class OnGpu final : public LoadLibrary {
   public:
    std::string device() const override { return "cuda"; }
    std::string instruction_set() const override { return "NVIDIA Example 80GB"; }
    Result<void> ready() const override { return {}; }
    std::int64_t cache_bytes() const override { return 50'000'000; }
    const std::vector<LoadEntry>& loads() const override { return cpu_loads(); }
    std::vector<Check> verify(const MakeLoad&, const LoadOptions&) const override { return {}; }
    std::unique_ptr<BandwidthProbe> bandwidth(std::int64_t, int) const override { return nullptr; }
  };
  const OnGpu gpu;
  const auto rules = builtin_rules();
  REQUIRE(rules);
  const auto found = [&](const LoadLibrary& library, double percent) {
    BenchResult result;
    result.rows = {row("scatter", {25'600'000, 1}, LoadKind::decoder)};
    result.rows[0].decompress_roofline_percent = percent;
    std::vector<std::string> names;
    for (const Finding& finding :
         bench_report({.library = &library, .loads = {cpu_loads()[0]}}, result, *rules).findings)
      names.push_back(finding.rule);
    return names;
  };
  CHECK(found(gpu, 12) == std::vector<std::string>{"scatter-bandwidth"});
  CHECK(found(gpu, 55).empty());
  CHECK(found(cpu_load_library(), 12).empty());
}

TEST_CASE("buckets of a step add up, and have no quantiles") {
  BenchResult result;
  result.rows = {row("cast16", {1000, 1}, LoadKind::cast), row("cast16", {5000, 3}, LoadKind::cast)};
  const Report report = bench_report({.library = &cpu_load_library(), .loads = {cpu_loads()[0]}}, result, {});
  CHECK(value_of(report, "load.cast16.cpu.ms") == 8);
  CHECK(value_of(report, "load.cast16.wire_bytes") == 4000);
  for (const Metric& metric : report.metrics)
    if (metric.name == "load.cast16.cpu.ms") CHECK_FALSE(metric.p90.has_value());
}

TEST_CASE("a check that failed is told, and gives the status of a failed self-check") {
  BenchResult result;
  result.rows = {row("cast8", {1000, 1}, LoadKind::cast)};
  result.checks = {{"cast8", {"V1", "feedback", true, ""}}, {"cast8", {"V3", "round trip", false, "33 normal"}}};
  const Report report = bench_report({.library = &cpu_load_library(), .loads = {cpu_loads()[0]}}, result, {});
  CHECK(report.verdict.text == "1 of 2 checks failed, of cast8.\nThe first: cast8 V3, round trip: 33 normal");
  CHECK(bench_status(result) == exit_status::kSelfCheckFailed);
}

TEST_CASE("sizes of a job: its buckets, else its messages, else its gradient, else an error") {
  Report job;
  job.facts["ddp.bucket_bytes"] = "[400, 26214400,400]";
  const auto buckets = bucket_sizes(job, "job.json");
  REQUIRE(buckets);
  REQUIRE(buckets->size() == 2);
  CHECK((*buckets)[0].elements == 100);
  CHECK((*buckets)[0].count == 2);
  CHECK((*buckets)[1].elements == 6'553'600);

  Report older;
  older.facts["ddp.bucket_bytes"] = "mixed: 400, 800";
  older.metrics = {{.name = "comm.message_bytes", .value = 4000}, {.name = "comm.collectives_per_step", .value = 3}};
  older.facts["compression"] = "none";
  const auto messages = bucket_sizes(older, "job.json");
  REQUIRE(messages);
  CHECK((*messages)[0].elements == 1000);
  CHECK((*messages)[0].count == 3);

  older.facts["compression"] = "topk";  // its messages are not the gradient
  older.facts["ddp.gradient_bytes"] = "80000";
  const auto gradient = bucket_sizes(older, "job.json");
  REQUIRE(gradient);
  CHECK((*gradient)[0].elements == 20'000);
  CHECK((*gradient)[0].count == 1);

  const auto none = bucket_sizes({}, "job.json");
  REQUIRE_FALSE(none);
  CHECK(none.error().on == "job.json");
  CHECK(none.error().hint == "name a size with --n");
}
