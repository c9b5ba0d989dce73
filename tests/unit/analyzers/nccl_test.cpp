// Size sweeps and NCCL's logs: series and facts in, metrics and one answer out.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzers/analyzers.h"
#include "tests/unit/analyzers/run_analyzers.h"

namespace gradsync {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::int64_t bytes;
  double busbw;
  double wrong;  // NaN = not checked
  const char* place = "out";
};

Inputs sweep(const std::string& operation, const std::vector<Row>& rows) {
  Inputs inputs;
  Series& series = inputs.series["sweep." + operation];
  series.columns = {"bytes", "type", "busbw_gbytes_per_s", "wrong", "place"};
  for (const Row& row : rows)
    series.rows.push_back({row.bytes, std::string("float"), row.busbw,
                           std::isnan(row.wrong) ? Cell(kUnknown) : Cell(static_cast<std::int64_t>(row.wrong)),
                           std::string(row.place)});
  return inputs;
}

Conclusions conclude(const std::unique_ptr<Analyzer>& analyzer, const Inputs& inputs) {
  Conclusions conclusions;
  analyzer->conclude(Summary{}, inputs, conclusions);
  return conclusions;
}

}  // namespace

TEST_CASE("bandwidth: the best of large messages, else of the largest there is") {
  const Conclusions large = conclude(
      make_fabric_curve(), sweep("all_reduce", {{1 << 20, 300, 0}, {64 << 20, 100, 0}, {128 << 20, 120, 0, "in"}}));
  const Metric* metric = large.metrics.find("fabric.all_reduce.bandwidth_gbytes_per_s", "all");
  REQUIRE(metric != nullptr);
  CHECK(metric->value == doctest::Approx(120));
  CHECK(metric->n == 2);
  CHECK(metric->source == "nccl_tests");
  const Conclusions small = conclude(make_fabric_curve(), sweep("all_gather", {{8, 0.5, 0}, {1024, 0.4, 0}}));
  CHECK(*small.metrics.value("fabric.all_gather.bandwidth_gbytes_per_s", "all") == doctest::Approx(0.4));
}

TEST_CASE("no bandwidth without a number: one rank, an unknown operation, no sweep") {
  CHECK(conclude(make_fabric_curve(), sweep("all_reduce", {{64 << 20, 0, 0}})).metrics.all().size() == 2);
  CHECK(conclude(make_fabric_curve(), sweep("all_reduce", {{64 << 20, kUnknown, kUnknown}})).metrics.all().empty());
  const Conclusions unknown = conclude(make_fabric_curve(), sweep("unknown", {{64 << 20, 9, 1}}));
  CHECK_FALSE(unknown.metrics.value("fabric.unknown.bandwidth_gbytes_per_s", "all"));
  CHECK(*unknown.metrics.value("fabric.wrong_results", "all") == 1);
  CHECK(conclude(make_fabric_curve(), Inputs{}).metrics.all().empty());
}

TEST_CASE("wrong results are summed over what was checked, and the place is named") {
  Inputs inputs = sweep("all_reduce", {{8, 1, 0}, {1 << 20, 2, 3, "in"}, {2 << 20, 2, kUnknown}});
  inputs.series.merge(sweep("broadcast", {{8, 1, kUnknown}}).series);
  const Conclusions found = conclude(make_fabric_curve(), inputs);
  CHECK(*found.metrics.value("fabric.all_reduce.wrong_results", "all") == 3);
  CHECK(found.metrics.find("fabric.all_reduce.wrong_results", "all")->n == 2);
  CHECK_FALSE(found.metrics.value("fabric.broadcast.wrong_results", "all"));
  CHECK(*found.metrics.value("fabric.wrong_results", "all") == 3);
  CHECK(found.facts.at("sweep.wrong_in") == "all_reduce of 1 MiB float in place");
}

TEST_CASE("a sum of the whole run counts where the rows have none") {
  Inputs inputs = sweep("reduce", {{8, 1, kUnknown}});
  Series& runs = inputs.series["sweep_runs"];
  runs.columns = {"operation", "source", "out_of_bounds"};
  runs.rows = {{std::string("reduce"), std::string("a.log"), std::int64_t{4}},
               {std::string("reduce"), std::string("b.log"), kUnknown}};
  const Conclusions found = conclude(make_fabric_curve(), inputs);
  CHECK(*found.metrics.value("fabric.reduce.wrong_results", "all") == 4);
  CHECK(found.facts.at("sweep.wrong_in") == "reduce in a.log");
}

TEST_CASE("between nodes: needs two of them, and one answer of all logs") {
  struct Case {
    Facts facts;
    std::string expected;  // empty: not known
  };
  for (const Case& c : {Case{{{"nccl.network", "socket"}, {"nccl.nodes", "2"}}, "socket"},
                        Case{{{"nccl.network", "ib; ib"}, {"nccl.hosts", "a; b"}}, "ib"},
                        Case{{{"nccl.network", "ib; socket"}, {"nccl.nodes", "2"}}, "mixed: ib, socket"},
                        Case{{{"nccl.network", "socket"}, {"nccl.nodes", "1"}, {"nccl.hosts", "a"}}, "one node"},
                        Case{{{"nccl.network", "socket"}, {"nccl.hosts", "a"}}, ""},  // the log of one process
                        Case{{{"nccl.nodes", "2"}}, ""}, Case{{}, ""}}) {
    const Conclusions found = conclude(make_nccl_transport(), [&] {
      Inputs inputs;
      inputs.facts = c.facts;
      return inputs;
    }());
    const auto answer = found.facts.find("nccl.between_nodes");
    CHECK((answer == found.facts.end() ? "" : answer->second) == c.expected);
  }
  Inputs inputs;
  inputs.facts = {{"nccl.rdma_device", "found; none found"}, {"nccl.version", "2.19.3; 2.19.3"}};
  const Conclusions found = conclude(make_nccl_transport(), inputs);
  CHECK(found.facts.at("nccl.rdma_device") == "mixed: found, none found");
  CHECK(found.facts.at("nccl.version") == "2.19.3");
  CHECK(found.facts.at("backend") == "nccl");
  CHECK(conclude(make_nccl_transport(), Inputs{}).facts.empty());
  CHECK(conclude(make_fabric_curve(), sweep("all_reduce", {{8, 1, 0}})).facts.at("sweep") == "nccl_tests");
}

TEST_CASE("choices of NCCL: what the plug-in told on the job's collectives, behind what a log told") {
  const char* const job = R"(
    process host=n pid=10
    fact rank=0 nccl.version=2.28.9 nccl.plugin=v5
    collective all_reduce 0..10 bytes=4096 source=nccl_nvtx algorithm=TREE protocol=LL channels=2
    collective all_reduce 20..30 bytes=4096 source=nccl_nvtx algorithm=TREE protocol=LL channels=2
    collective all_reduce 40..50 bytes=1048576 source=nccl_plugin algorithm=RING protocol=SIMPLE
    collective broadcast 60..70 bytes=8 source=nccl_nvtx
    process host=n pid=11
    fact rank=1 nccl.version=2.28.9 nccl.plugin=v5
    collective all_reduce 0..10 bytes=4096 source=nccl_nvtx algorithm=TREE protocol=LL channels=2
  )";
  const Conclusions alone = test::analyze(job);
  const Series& choices = alone.series.at("nccl_choices");
  REQUIRE(choices.rows.size() == 2);
  using Cells = std::vector<Cell>;
  CHECK(choices.rows[0] == Cells{std::string("all_reduce"), std::int64_t{4096}, std::string("TREE"), std::string("LL"),
                                 std::int64_t{2}, std::int64_t{3}});
  CHECK(std::isnan(std::get<double>(choices.rows[1][4])));
  CHECK(alone.facts.at("nccl.version") == "2.28.9");
  CHECK(alone.facts.at("nccl.plugin") == "v5");

  Inputs inputs;
  inputs.series["nccl_choices"].rows.push_back({std::string("all_gather"), std::int64_t{8}, std::string("RING"),
                                                std::string("LL"), std::int64_t{1}, std::int64_t{1}});
  CHECK(test::analyze(job, inputs).series.at("nccl_choices").rows.size() == 3);
  CHECK_FALSE(test::analyze("process host=n pid=10\nfact rank=0\nstep 0 0..10\n").series.contains("nccl_choices"));
}

TEST_CASE("what the plug-in could not see is said") {
  const Conclusions told =
      test::analyze("process host=n pid=10\nfact rank=0 not_covered.nccl_plugin=NCCL_2.30.3_can_crash\nstep 0 0..10\n");
  const auto found = std::find_if(told.coverage.begin(), told.coverage.end(),
                                  [](const Coverage& entry) { return entry.source == "NCCL profiler plug-in"; });
  REQUIRE(found != told.coverage.end());
  CHECK(found->state == CoverageState::partial);
  CHECK(found->reason == "NCCL_2.30.3_can_crash");
}

}  // namespace gradsync
