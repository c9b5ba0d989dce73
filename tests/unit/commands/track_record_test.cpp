#include "src/commands/track_record.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/model/series_table.h"
#include "tests/unit/commands/state_home.h"

using namespace gradsync;
namespace fs = std::filesystem;

namespace {

using test::StateHome;

fs::path file_of(const StateHome& state) { return state.folder() / "gradsync-doctor" / "calibration.jsonl"; }

TriedChange change(double predicted, double measured) {
  TriedChange one;
  one.at = 1'764'504'000;
  one.change = "no_compression";
  one.step_ms = 100;
  one.predicted = {predicted - 1, predicted, predicted + 1};
  one.measured = {measured - 2, measured, measured + 2};
  one.quadruples = 12;
  one.tool = "1.2.3";
  one.hosts = {"a", "b"};
  one.backend = "gloo";
  one.network = "between hosts";
  one.ranks = 2;
  one.cpus = 8;
  one.versions = {{"torch", "2.1"}};
  return one;
}

Metric metric(std::string name, double value, double p10, double p90) {
  Metric one{.name = std::move(name), .value = value};
  one.p10 = p10;
  one.p90 = p90;
  return one;
}

Report ab_report() {
  Report report;
  report.tool.version = "1.2.3";
  report.facts["ab.with"] = "dense";
  report.metrics = {metric("predict.no_compression.saved_ms", 20, 18, 22),
                    metric("measured.ab_difference_ms", 14, 13, 15), metric("ab.with_ms", 100, 99, 101)};
  return report;
}

}  // namespace

TEST_CASE("a report of an A/B gives what was predicted and measured, or nothing") {
  const auto tried = tried_change(ab_report(), 7);
  REQUIRE(tried);
  CHECK(tried->change == "no_compression");
  CHECK(tried->error_share() == doctest::Approx(0.06));
  for (const char* missing : {"predict.no_compression.saved_ms", "measured.ab_difference_ms", "ab.with_ms"}) {
    CAPTURE(missing);
    Report report = ab_report();
    std::erase_if(report.metrics, [&](const Metric& one) { return one.name == missing; });
    CHECK_FALSE(tried_change(report, 7));
  }
  Report half = ab_report();
  half.facts["ab.with"] = "fp16";
  CHECK_FALSE(tried_change(half, 7));  // another change than the one that was predicted
}

TEST_CASE("a line and back; lines that are none") {
  const auto read = from_line(to_line(change(20, 14)));
  REQUIRE(read);
  CHECK(read->at == 1'764'504'000);
  CHECK(read->predicted.p50 == 20);
  CHECK(read->measured.p95 == 16);
  CHECK(read->hosts == std::vector<std::string>{"a", "b"});
  CHECK(read->versions.at("torch") == "2.1");
  for (const char* line :
       {"", "{", "[]", "{}", R"({"at":"x","change":"a","step_ms":0,"predicted_ms":[1,2,3],"measured_ms":[1,2,3]})",
        R"({"at":"x","change":"a","step_ms":5,"predicted_ms":[1,2],"measured_ms":[1,2,3]})"})
    CHECK_FALSE(from_line(line));
}

TEST_CASE("the file: made when needed, bounded, whole when many append") {
  const StateHome state;
  CHECK(read_track_record().changes.empty());
  REQUIRE(append_track_record(change(1, 0)));
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.emplace_back([] {
      for (int i = 0; i < 5; ++i) REQUIRE(append_track_record(change(2, 0)));
    });
  for (std::thread& writer : writers) writer.join();
  CHECK(read_track_record().changes.size() == 21);
  std::string many;
  for (int i = 0; i < 1100; ++i) many += "of another version\n";
  std::ofstream(file_of(state)) << many;
  REQUIRE(append_track_record(change(3, 0)));
  const TrackRecord record = read_track_record();
  CHECK(record.changes.size() == 1);
  CHECK(record.unreadable == 999);  // kept as they are, the oldest gone
}

TEST_CASE("a file that cannot be read is named, and is left alone") {
  const StateHome state;
  fs::create_directories(file_of(state));  // a folder in its place
  const TrackRecord record = read_track_record();
  CHECK(record.problem.find("calibration.jsonl") != std::string::npos);
  const Result<void> appended = append_track_record(change(1, 0));
  REQUIRE_FALSE(appended);
  CHECK(appended.error().message().find("calibration.jsonl") != std::string::npos);
  Report report;
  widen_by(record, report);
  REQUIRE(report.coverage.size() == 1);
  CHECK(report.coverage[0].reason.find("calibration.jsonl") != std::string::npos);
}

TEST_CASE("whatif's intervals reach as far as the record says, and it says by how many runs") {
  const auto widened_by = [](const TrackRecord& record) {
    Report report;
    report.metrics = {metric("step.time_ms", 100, 99, 101), metric("predict.no_compression.saved_ms", 20, 18, 22)};
    report.series["whatif"] = {
        "whatif",
        {"remedy", "p05", "p50", "p95", "probability", "kind", "worth_trying", "cap"},
        {{std::string("no_compression"), 18.0, 20.0, 22.0, 1.0, std::string("predicted"), std::string("yes"), 60.0}}};
    widen_by(record, report);
    return report;
  };
  const Report prior = widened_by({});
  const SeriesRow few(prior.series.at("whatif"), prior.series.at("whatif").rows[0]);
  CHECK(few.number("p05") == 15);
  CHECK(few.number("p95") == 25);
  CHECK(few.text("worth_trying") == "yes");
  CHECK(prior.facts.at("whatif.record").find("(none)") != std::string::npos);
  TrackRecord wrong;
  for (int i = 0; i < 6; ++i) wrong.changes.push_back(change(50, 20));
  const Report humbled = widened_by(wrong);
  const SeriesRow row(humbled.series.at("whatif"), humbled.series.at("whatif").rows[0]);
  CHECK(row.number("p05") == -10);
  CHECK(row.number("p95") == 50);
  CHECK(row.text("worth_trying") == "no");
  CHECK(humbled.metrics[1].p10 == -10);
  CHECK(humbled.facts.at("whatif.record")
            .find("no_compression: at least 30.0 % of the step to both sides, by 6 measured changes") !=
        std::string::npos);
}
