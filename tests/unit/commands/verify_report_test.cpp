#include "src/commands/verify_report.h"

#include <doctest/doctest.h>

#include "src/model/series_table.h"

using namespace gradsync;

namespace {

Metric metric(std::string name, double value, double p10, double p90, std::int64_t n = 1) {
  Metric one{.name = std::move(name), .value = value};
  one.n = n;
  one.p10 = p10;
  one.p90 = p90;
  return one;
}

// 60 steps of `step_ms`; no_compression would save 4 to 6 ms, and bucket_size 1 to 3.
ComparedRun run_of(double step_ms, const std::string& compression = "topk") {
  Report report;
  report.tool.version = "1.2.3";
  report.run.ranks = 2;
  report.run.hosts = {"a"};
  report.facts = {{"compression", compression}};
  Series& steps = report.series["steps"];
  steps = {"steps", {"rank", "step", "variant", "deep", "time_ms"}, {}};
  for (std::int64_t step = 0; step < 60; ++step)
    steps.rows.push_back(
        {std::int64_t{0}, step, std::int64_t{0}, std::int64_t{0}, step_ms + static_cast<double>(step * 7 % 5) * 0.05});
  report.metrics = {metric("step.time_ms", step_ms + 0.1, step_ms, step_ms + 0.2, 60),
                    metric("predict.no_compression.saved_ms", 5, 4, 6), metric("predict.bucket_size.saved_ms", 2, 1, 3),
                    metric("predict.together.saved_ms", 7, 6, 8)};
  return {"report.json", report};
}

Rule rule(std::string id, std::vector<std::string> saves) {
  Rule one;
  one.id = std::move(id);
  one.saves = std::move(saves);
  return one;
}

RuleSet rules() {
  RuleSet set;
  set.rules = {rule("compress-not-overlapped", {"predict.no_compression.saved_ms", "sync.exposed_ms"}),
               rule("small-buckets", {"predict.bucket_size.saved_ms"})};
  return set;
}

Finding fired(std::string id) {
  Finding finding;
  finding.rule = std::move(id);
  finding.state = FindingState::fired;
  finding.saves = Saving{SavingKind::predicted, "ms", 4, 5, 6, std::nullopt};
  return finding;
}

}  // namespace

TEST_CASE("which remedy: named, by what changed, or the only one that findings predict") {
  ComparedRun before = run_of(100);
  CHECK(verify(before, run_of(95), "bucket_size", rules()).remedy == "bucket_size");
  CHECK(verify(before, run_of(95, "none"), "", rules()).remedy == "no_compression");

  before.report.findings = {fired("small-buckets")};
  const Verification only = verify(before, run_of(95), "", rules());
  CHECK(only.remedy == "bucket_size");
  REQUIRE(only.promise);
  CHECK(only.promise->saved.p50 == 2);
  // What changed tells more than what was advised.
  CHECK(verify(before, run_of(95, "none"), "", rules()).remedy == "no_compression");

  before.report.findings.push_back(fired("compress-not-overlapped"));
  const Verification two = verify(before, run_of(95), "", rules());
  CHECK(two.remedy.empty());
  CHECK(two.choices == std::vector<std::string>{"no_compression", "bucket_size"});
  REQUIRE(two.measured);
  CHECK(two.measured->p50 == doctest::Approx(5));
}

TEST_CASE("the finding that it was for: gone, still there, not judged") {
  struct Case {
    FindingState state;
    const char* words;
  };
  for (const Case& c : {Case{FindingState::clean, "is gone"},
                        {FindingState::fired, "is still there"},
                        {FindingState::could_not_judge, "could not be judged"}}) {
    ComparedRun before = run_of(100), after = run_of(95, "none");
    before.report.findings = {fired("compress-not-overlapped"), fired("small-buckets")};
    after.report.findings = {fired("compress-not-overlapped"), fired("small-buckets")};
    after.report.findings[0].state = c.state;
    const Verification found = verify(before, after, "", rules());
    Report report = after.report;
    add_verification(found, before, report);
    CHECK(report.facts["verify.findings"] == std::string("compress-not-overlapped ") + c.words);
    CHECK(report.command == "verify");
    CHECK(report.verdict.measured);
    CHECK(rows_of(report, "compare_runs").size() == 2);
  }
}

TEST_CASE("kept only when the job is otherwise the same") {
  struct Case {
    const char* name;
    void (*change)(ComparedRun&);
    bool kept;
  };
  const Case cases[] = {
      {"nothing else", [](ComparedRun&) {}, true},
      {"the command line", [](ComparedRun& r) { r.report.run.command_line = {"other.py"}; }, true},
      {"an option of the doctor", [](ComparedRun& r) { r.report.facts["option.deep"] = "off"; }, true},
      {"another host", [](ComparedRun& r) { r.report.run.hosts = {"b"}; }, false},
      {"ranks", [](ComparedRun& r) { r.report.run.ranks = 4; }, false},
      {"a version", [](ComparedRun& r) { r.report.run.versions["torch"] = "2.2"; }, false},
      {"the environment", [](ComparedRun& r) { r.report.facts["env.omp_num_threads"] = "4"; }, false},
      {"too few steps", [](ComparedRun& r) { r.report.series["steps"].rows.resize(9); }, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    ComparedRun before = run_of(100), after = run_of(95, "none");
    before.report.facts["option.deep"] = "auto";
    after.report.facts["option.deep"] = "auto";
    c.change(after);
    const Result<TriedChange> kept = verified_change(verify(before, after, "", rules()), after.report, 7);
    REQUIRE(static_cast<bool>(kept) == c.kept);
    if (!kept) continue;
    CHECK(kept->change == "no_compression");
    CHECK(kept->measured.p50 == doctest::Approx(5));
    CHECK(kept->measured.p05 <= kept->measured.p95);
    CHECK(kept->error_share() == doctest::Approx(0).epsilon(0.01));
  }
}

TEST_CASE("a bound is no prediction, and nothing predicted is not kept") {
  ComparedRun before = run_of(100);
  before.report.metrics[1].name = "bound.no_compression.saved_ms";
  before.report.metrics[1].value = 20;
  const Verification bounded = verify(before, run_of(95, "none"), "", rules());
  CHECK(bounded.answer == "within the bound");
  CHECK_FALSE(verified_change(bounded, before.report, 7));
  before.report.metrics.resize(1);
  CHECK(verify(before, run_of(95, "none"), "", rules()).answer == "shorter, and nothing was predicted");
}

TEST_CASE("reports that cannot be verified against") {
  CHECK(may_verify(run_of(100).report, "r"));
  Report sweep;
  sweep.command = "sweep";
  CHECK(may_verify(sweep, "r").error().why.find("a report of sweep") != std::string::npos);
  Report without = run_of(100).report;
  without.series.clear();
  CHECK(may_verify(without, "r").error().exit_status == 3);
}
