#include "analyzers/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "src/model/series_table.h"

using namespace gradsync;

namespace {

// Steps of 2 ranks that are `step_ms` long and of which `comm_ms` are communication; every fifth is a little longer.
Report job(double step_ms, double comm_ms, int steps = 60) {
  Report report;
  report.run.ranks = 2;
  report.run.hosts = {"a"};
  Series& table = report.series["steps"];
  table = {
      "steps", {"rank", "step", "variant", "deep", "time_ms", "compute_ms", "compress_ms", "comm_transfer_ms"}, {}};
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      const double extra = static_cast<double>((step * 7) % 5) * 0.1;
      table.rows.push_back(
          {rank, step, std::int64_t{0}, std::int64_t{0}, step_ms + extra, step_ms - comm_ms + extra, 0.0, comm_ms});
    }
  for (const auto& [name, value] : {std::pair{"step.time_ms", step_ms + 0.2},
                                    {"attribution.compute_ms", step_ms - comm_ms},
                                    {"attribution.comm_transfer_ms", comm_ms},
                                    {"sync.exposed_ms", comm_ms}}) {
    Metric metric{.name = name, .value = value};
    metric.n = steps;
    report.metrics.push_back(metric);
  }
  return report;
}

SetComparison of(const Report& before, const Report& after) { return compare_sets({{"a", before}}, {{"b", after}}); }

ComparedSet runs_of(std::initializer_list<double> step_ms) {
  ComparedSet set;
  for (const double ms : step_ms) set.push_back({"run", job(ms, 10, 8)});
  return set;
}

Finding finding(std::string rule, FindingState state, double ms = 0) {
  Finding one;
  one.rule = std::move(rule);
  one.state = state;
  if (ms > 0) one.saves = Saving{SavingKind::bound, "ms", ms, ms, ms, std::nullopt};
  return one;
}

}  // namespace

TEST_CASE("one run each: the step, and the class that made it longer") {
  const SetComparison found = of(job(100, 10), job(110, 20));
  CHECK(found.compared == ComparedUnit::steps);
  CHECK(found.block_steps >= 4);
  CHECK(found.step().answer == ChangeAnswer::rose);
  CHECK(*found.step().change == doctest::Approx(10));
  CHECK(found.step().before_n == 60);  // steps, not ranks times steps
  CHECK(found.find("attribution.comm_transfer_ms")->answer == ChangeAnswer::rose);
  CHECK(found.find("attribution.compute_ms")->answer == ChangeAnswer::not_shown);
  CHECK(found.find("sync.exposed_ms")->answer == ChangeAnswer::rose);
  REQUIRE(found.cautions.size() == 1);
  CHECK(found.cautions[0].find("one run each side") != std::string::npos);
  CHECK(found.other_job.empty());
}

TEST_CASE("what is shown is what was tested, where a report scales its classes to the median step") {
  Report before = job(100, 10);
  for (Metric& metric : before.metrics)
    if (metric.name == "attribution.comm_transfer_ms") metric.value = 30;
  const SetComparison found = of(before, job(100, 20));
  const MeasureChange& comm = *found.find("attribution.comm_transfer_ms");
  CHECK(comm.answer == ChangeAnswer::rose);
  CHECK(*comm.before == doctest::Approx(10));
  CHECK(*comm.after == doctest::Approx(20));
}

TEST_CASE("steps without the hook, of the window, and classes that were not measured do not count") {
  Report after = job(100, 10);
  for (std::int64_t step = 100; step < 140; ++step)
    for (const auto& [variant, deep] : {std::pair{1, 0}, {0, 1}})
      after.series["steps"].rows.push_back(
          {std::int64_t{0}, step, std::int64_t{variant}, std::int64_t{deep}, 500.0, 490.0, 0.0, 10.0});
  const SetComparison found = of(job(100, 10), after);
  CHECK(found.step().answer == ChangeAnswer::not_shown);
  CHECK(found.step().after_n == 60);
  CHECK(found.find("attribution.compress_ms") == nullptr);  // 0 in the table because nobody saw it
}

TEST_CASE("classes that were seen in the window alone are told and not tested") {
  Report before = job(100, 10), after = job(110, 20);
  for (Metric& metric : after.metrics)
    if (metric.name == "attribution.comm_transfer_ms") metric.n = 5;
  const SetComparison found = of(before, after);
  const MeasureChange* comm = found.find("attribution.comm_transfer_ms");
  REQUIRE(comm != nullptr);
  CHECK(comm->answer == ChangeAnswer::not_tested);
  CHECK(*comm->change == doctest::Approx(10));
  CHECK_FALSE(comm->low.has_value());
}

TEST_CASE("too few steps are said") {
  CHECK(of(job(100, 10, 10), job(200, 10, 60)).step().answer == ChangeAnswer::too_few);
  Report without = job(100, 10);
  without.series.clear();
  const SetComparison untold = of(without, job(110, 10));
  CHECK(untold.step().answer == ChangeAnswer::too_few);
  CHECK(untold.step().before_n == 0);
  CHECK(untold.cautions.size() == 2);
}

TEST_CASE("several runs: a run is one observation") {
  const SetComparison found = compare_sets(runs_of({100, 101, 102, 103}), runs_of({110, 111, 112, 113}));
  CHECK(found.compared == ComparedUnit::runs);
  CHECK(found.step().answer == ChangeAnswer::rose);
  CHECK(found.step().before_n == 4);
  CHECK(found.cautions.empty());

  const SetComparison few = compare_sets(runs_of({100, 101, 102}), runs_of({110, 111, 112}));
  CHECK(few.step().answer == ChangeAnswer::too_few);
  CHECK(*few.step().change == doctest::Approx(10));
  CHECK(few.cautions.size() == 1);
}

TEST_CASE("what differs from run to run is not taken for a difference of steps") {
  // Each run is 3 % off another way: 8 runs of one job, dealt out to two sides.
  const SetComparison found = compare_sets(runs_of({100, 103, 97, 101}), runs_of({98, 102, 99, 103.5}));
  CHECK(found.step().answer == ChangeAnswer::not_shown);
}

TEST_CASE("findings: appeared, went, stayed, and what could not be judged") {
  Report before = job(100, 10), after = job(100, 10);
  before.findings = {finding("went", FindingState::fired, 8), finding("stayed", FindingState::fired, 5),
                     finding("appeared", FindingState::clean), finding("blind-now", FindingState::fired),
                     finding("blind-then", FindingState::could_not_judge)};
  after.findings = {finding("went", FindingState::clean), finding("stayed", FindingState::fired, 6),
                    finding("appeared", FindingState::fired, 9), finding("blind-now", FindingState::could_not_judge),
                    finding("blind-then", FindingState::fired)};
  std::map<std::string, FindingChange> by_rule;
  for (const FindingChange& one : of(before, after).findings) by_rule[one.finding.rule] = one;
  REQUIRE(by_rule.size() == 5);
  CHECK(by_rule["went"].kind == FindingChangeKind::went);
  CHECK(*by_rule["went"].before_ms == 8);
  CHECK_FALSE(by_rule["went"].after_ms.has_value());
  CHECK(by_rule["stayed"].kind == FindingChangeKind::stayed);
  CHECK(*by_rule["stayed"].after_ms == 6);
  CHECK(by_rule["appeared"].kind == FindingChangeKind::appeared);
  CHECK(by_rule["blind-now"].kind == FindingChangeKind::not_judged_now);
  CHECK(by_rule["blind-then"].kind == FindingChangeKind::judged_now);
}

TEST_CASE("facts: what changed, and whether it is still the same job") {
  struct Case {
    const char* name;
    void (*change)(Report&);
    const char* kind;  // of the fact that changed
    bool other_job;
    std::size_t cautions;  // beside "one run each side"
  };
  const Case cases[] = {
      {"ranks", [](Report& r) { r.run.ranks = 4; }, "job", true, 0},
      {"ddp.parameters", [](Report& r) { r.facts["ddp.parameters"] = "200"; }, "job", true, 0},
      {"device", [](Report& r) { r.facts["device"] = "cuda"; }, "job", true, 0},
      {"hosts", [](Report& r) { r.run.hosts = {"b"}; }, "machine", false, 1},
      {"torch", [](Report& r) { r.run.versions["torch"] = "2.2"; }, "version", false, 0},
      {"env.nccl_algo", [](Report& r) { r.facts["env.nccl_algo"] = "Ring"; }, "environment", false, 0},
      {"compression", [](Report& r) { r.facts["compression"] = "none"; }, "setting", false, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Report before = job(100, 10);
    before.facts = {{"ddp.parameters", "100"}, {"device", "cpu"}, {"compression", "topk"}, {"doctor.cpu_ms", "3"}};
    before.run.versions = {{"torch", "2.1"}};
    Report after = before;
    after.facts["doctor.cpu_ms"] = "4";  // differs from run to run: no fact to tell
    c.change(after);
    const SetComparison found = of(before, after);
    REQUIRE(found.facts.size() == 1);
    CHECK(found.facts[0].name == c.name);
    CHECK(found.facts[0].kind == c.kind);
    CHECK(!found.other_job.empty() == c.other_job);
    CHECK(found.cautions.size() == 1 + c.cautions);
  }
}

TEST_CASE("as tables: what is not known is no number") {
  Report report;
  add_comparison(of(job(100, 10), job(110, 20)), report);
  const std::vector<SeriesRow> rows = rows_of(report, "compare");
  REQUIRE(!rows.empty());
  CHECK(rows[0].text("measure") == "step.time_ms");
  CHECK(rows[0].text("verdict") == "rose");
  CHECK(*rows[0].number("low") <= *rows[0].number("change"));
  const Metric* percent = metric_of(report, "compare.step_change_percent");
  REQUIRE(percent != nullptr);
  CHECK(percent->value == doctest::Approx(100 * 10 / 100.2));
  CHECK(report.facts["compare.unit"].starts_with("blocks of "));
}

TEST_CASE("numbers that are no measurements do no harm") {
  Report odd = job(100, 10);
  for (std::size_t i = 0; i < odd.series["steps"].rows.size(); i += 3)
    odd.series["steps"].rows[i][4] = i % 2 == 0 ? 1e308 : std::nan("");
  odd.series["steps"].rows[1][1] = 1e300;
  CHECK(of(job(100, 10), odd).step().before.has_value());
  Report none = job(100, 10);
  for (Metric& metric : none.metrics)
    if (metric.name == "step.time_ms") metric.value = std::nan("");
  CHECK(step_time_of(none) == nullptr);
  CHECK(step_time_of(job(100, 10)) != nullptr);
}

TEST_CASE("what devices have is their median") {
  Report before = job(100, 10), after = job(100, 10);
  for (const auto& [report, hz] : {std::pair{&before, 1.4e9}, {&after, 0.9e9}})
    for (const char* device : {"device:0", "device:1", "device:2"})
      report->metrics.push_back({.name = "gpu.sm_clock_hz", .scope = device, .value = hz});
  const SetComparison found = of(before, after);
  const MeasureChange* clock = found.find("gpu.sm_clock_hz");
  REQUIRE(clock != nullptr);
  CHECK(*clock->change == doctest::Approx(-0.5e9));
  CHECK(clock->answer == ChangeAnswer::not_tested);
}
