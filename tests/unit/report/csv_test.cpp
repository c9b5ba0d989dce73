#include "src/report/csv.h"

#include <doctest/doctest.h>

#include <limits>

namespace gradsync {
namespace {

TEST_CASE("metrics, findings and attribution have files of their own, what is unknown is empty") {
  Report report;
  Metric metric;
  metric.name = "step.time_ms";
  metric.value = 142.5;
  metric.p10 = std::numeric_limits<double>::quiet_NaN();
  metric.p90 = 150;
  report.metrics = {metric};
  Finding finding;
  finding.rule = "a-rule";
  finding.state = FindingState::clean;
  finding.says = "a, \"b\"\nc";
  finding.advice = {"one", "two"};
  report.findings = {finding};
  report.attribution = {{"all", "median", {{"compute", 1.25}, {"idle", 0}}, {"idle"}, false}};
  const auto files = report_to_csv(report);
  CHECK(files.size() == 3);
  CHECK(files.at("metrics.csv") ==
        "name,scope,value,unit,n,p10,p50,p90,source,resolution\r\nstep.time_ms,all,142.5,ms,1,,,150,,\r\n");
  CHECK(files.at("findings.csv")
            .ends_with("\r\na-rule,0,all,info,clean,,\"a, \"\"b\"\"\nc\",,,,\"one\ntwo\",,,,,,,,\r\n"));
  CHECK(files.at("attribution.csv") ==
        "scope,step,class,ms,inflated,shares_only\r\nall,median,compute,1.25,0,0\r\nall,median,idle,0,1,0\r\n");
}

TEST_CASE("each series is a table; its name cannot lead out of the folder or take another's") {
  Report report;
  for (const char* name : {"steps", "sweep.all_reduce", "../../etc/x", ".hidden", "metrics", ""})
    report.series[name] = {name, {"rank", "a,b"}, {{std::int64_t{0}, std::string("x")}, {2.5, std::string("-1\r")}}};
  const auto files = report_to_csv(report);
  std::string names;
  for (const auto& [name, text] : files) names += name + " ";
  CHECK(names ==
        "_.._.._etc_x.csv _.csv _.hidden.csv attribution.csv findings.csv metrics-2.csv metrics.csv steps.csv "
        "sweep.all_reduce.csv ");
  CHECK(files.at("steps.csv") == "rank,\"a,b\"\r\n0,x\r\n2.5,\"-1\r\"\r\n");
}

}  // namespace
}  // namespace gradsync
