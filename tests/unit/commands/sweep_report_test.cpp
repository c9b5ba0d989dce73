#include "src/commands/sweep_report.h"

#include <doctest/doctest.h>

#include "src/commands/profiles.h"
#include "src/diagnosis/rule_set.h"

using namespace gradsync;

namespace {

SweptFabric swept() {
  SweptFabric swept;
  std::vector<SweepSample> samples;
  for (int repeat = 0; repeat < 10; ++repeat)
    for (std::int64_t bytes = 1024; bytes <= 65536; bytes *= 2) {
      SweepSample sample;
      sample.call = {FabricOperation::all_reduce, ElementType::float32, bytes / 4};
      sample.repeat = repeat;
      sample.us = (40 + static_cast<double>(bytes) / 2000) * (1 + 0.001 * repeat);
      sample.wrong = 0;
      samples.push_back(sample);
    }
  add_samples(samples, swept.series);
  swept.seconds = 2.5;
  return swept;
}

}  // namespace

TEST_CASE("a swept fabric as a report, and as the profile that is kept of it") {
  const Result<RuleSet> rules = builtin_rules();
  REQUIRE(rules);
  SweepSetting setting;
  setting.place.ranks = 2;
  setting.facts = {{"backend", "gloo"}, {"gloo.version", "0.5.0"}, {"hosts", "1"}, {"interface", "lo"}};
  setting.command_line = {"--ranks", "2"};
  setting.own_host = "node1";
  setting.measured_at = 1'764'504'000;
  setting.links = {"links", {"interface", "gbits_per_s", "source"}, {}};
  const Report report = sweep_report(swept(), setting, *rules);
  CHECK(report.command == "sweep");
  CHECK(report.run.hosts == std::vector<std::string>{"node1"});
  CHECK(report.run.ranks == 2);
  CHECK(report.run.backend == "gloo");
  CHECK(report.run.seconds == 2.5);
  CHECK(report.run.versions.at("gloo") == "0.5.0");
  CHECK(report.facts.at("sweep.at") == "2025-11-30T12:00:00Z");
  CHECK(report.series.at("sweep.all_reduce").rows.size() == 7);
  CHECK_FALSE(report.verdict.text.empty());
  for (const Coverage& entry : report.coverage) CHECK(entry.source != "scheduler");

  const std::optional<Profile> profile = profile_of(report);
  REQUIRE(profile);
  CHECK(profile->interface_name == "lo");
  CHECK(profile->measured_at.at("all_reduce") == 1'764'504'000);
  const FabricSegment& segment = profile->fabric->operations.at("all_reduce").front();
  CHECK(segment.alpha_us == doctest::Approx(40).epsilon(0.05));
  CHECK(segment.beta_us_per_byte == doctest::Approx(1.0 / 2000).epsilon(0.05));
}

TEST_CASE("hosts: their names, this one where all ranks are here, none where only their number is known") {
  CHECK(sweep_hosts({{"host_names", "b, a, b"}, {"hosts", "2"}}, "a") == std::vector<std::string>{"a", "b"});
  CHECK(sweep_hosts({{"hosts", "1"}}, "a") == std::vector<std::string>{"a"});
  CHECK(sweep_hosts({{"hosts", "2"}}, "a").empty());
}
