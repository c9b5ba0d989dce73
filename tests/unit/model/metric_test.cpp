#include "src/model/metric.h"

#include <doctest/doctest.h>

using namespace gradsync;

TEST_CASE("the unit is the last word of the name") {
  struct Case {
    const char *name, *unit;
  };
  for (const Case& c : {Case{"step.time_ms", "ms"},
                        {"host_sync.ms", "ms"},
                        {"step.count", "1"},
                        {"comm.collectives_per_step", "1"},
                        {"comm.message_bytes@p50", "bytes"},
                        {"sync.exposed_percent", "percent"},
                        {"fabric.all_reduce.bandwidth_gbytes_per_s", "gbytes_per_s"},
                        {"nic.retransmits_per_s", "per_s"},
                        {"irq.rate_hz", "hz"},
                        {"rank.ended_early", "1"},
                        {"word", "1"}}) {
    CAPTURE(c.name);
    CHECK(unit_of(c.name) == c.unit);
  }
}

TEST_CASE("metrics are found by name, scope and quantile") {
  MetricSet metrics;
  Metric metric;
  metric.name = "step.time_ms";
  metric.scope = "rank:1";
  metric.value = 5;
  metric.p90 = 9;
  metrics.add(metric);
  CHECK(*metrics.value("step.time_ms", "rank:1") == 5);
  CHECK(*metrics.value("step.time_ms@p90", "rank:1") == 9);
  CHECK_FALSE(metrics.value("step.time_ms@p10", "rank:1"));  // not measured
  CHECK_FALSE(metrics.value("step.time_ms", "all"));
  CHECK_FALSE(metrics.value("other_ms", "rank:1"));
  metric.value = 6;
  metrics.add(metric);
  CHECK(metrics.all().size() == 1);
  CHECK(*metrics.value("step.time_ms", "rank:1") == 6);
}

TEST_CASE("scopes come in natural order") {
  MetricSet metrics;
  for (const char* scope : {"rank:10", "all", "rank:2", "group:0"}) {
    Metric metric;
    metric.name = "x";
    metric.scope = scope;
    metrics.add(metric);
  }
  CHECK(metrics.scopes("rank") == std::vector<std::string>{"rank:2", "rank:10"});
  CHECK(metrics.scopes("host").empty());
}
