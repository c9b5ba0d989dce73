#include "src/diagnosis/parse_condition.h"
#include "src/diagnosis/placeholder.h"
#include "tests/unit/diagnosis/written.h"

namespace gradsync {

TEST_CASE("thresholds are converted to the unit of their metric") {
  struct Case {
    const char* text;
    const char* metric;
    double value;
  };
  const Case cases[] = {
      {"30 %", "a.share_percent", 30},
      {"2.5%", "a.share_percent", 2.5},
      {"64 KiB", "a.message_bytes", 65536},
      {"64K", "a.message_bytes", 65536},
      {"64 KB", "a.message_bytes", 64000},
      {"1.5 MiB", "a.message_bytes", 1572864},
      {"2 GB", "a.message_bytes", 2e9},
      {"512 B", "a.message_bytes", 512},
      {"8 ms", "a.time_ms", 8},
      {"500 us", "a.time_ms", 0.5},
      {"2 s", "a.time_ms", 2000},
      {"8 ms", "a.wait_us", 8000},
      {"20 us", "a.wait_us", 20},
      {"3 ms", "a.wait_ns", 3e6},
      {"1000 Hz", "irq.rate_hz", 1000},
      {"5 /s", "nic.pause_per_s", 5},
      {"11 GB/s", "x.bandwidth_gbytes_per_s", 11},
      {"8", "comm.collectives_per_step", 8},
      {"-1", "a.count", -1},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    CAPTURE(one.metric);
    const auto value = parse_threshold(one.text, one.metric);
    REQUIRE_MESSAGE(value, value.error().message());
    CHECK(*value == doctest::Approx(one.value));
  }
}

TEST_CASE("thresholds with no unit, or another, are errors that show how to write them") {
  struct Case {
    const char* text;
    const char* metric;
    const char* why;
    const char* hint;
  };
  const Case cases[] = {
      {"30", "a.share_percent", "'30' needs a unit: the metric is in percent", "write it like \"30 %\""},
      {"30", "a.message_bytes", "'30' needs a unit: the metric is in bytes", "write it like \"64 KiB\""},
      {"30", "a.time_ms", "'30' needs a unit: the metric is in ms", "write it like \"8 ms\""},
      {"8 ms", "a.share_percent", "'8 ms' is not a share", "write it like \"30 %\""},
      {"8 ms", "a.message_bytes", "'8 ms' is not a size", "write it like \"64 KiB\" or \"2 MB\""},
      {"30 %", "a.time_ms", "'30 %' is not a duration", "write it like \"8 ms\" or \"20 us\""},
      {"8 ms", "comm.collectives_per_step", "it has no unit, '8 ms' has", "write it like 8"},
      {"8 ms", "irq.rate_hz", "'8 ms' is not in Hz", "write it like \"100 Hz\""},
      {"", "a.time_ms", "'' is not a duration", "write it like \"8 ms\" or \"20 us\""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const auto value = parse_threshold(one.text, one.metric);
    REQUIRE_FALSE(value);
    CHECK(value.error().why == one.why);
    CHECK(value.error().hint == one.hint);
    CHECK(value.error().exit_status == 2);
  }
}

TEST_CASE("placeholders print numbers with their unit, and say what is missing") {
  MetricSet metrics =
      metrics_of({{"step.time_ms", 142}, {"a.share_percent", 6.14}, {"a.size_bytes", 24576}, {"a.count", 161}});
  metrics.add({"a.late_ms", "rank:1", 17.94, 30, 11.0, 17.9, 23.0, "steps", {}});
  const Facts facts{{"backend", "gloo"}, {"where.compress", "train.py:87 in topk_hook"}};
  const Situation rank{metrics, facts, "rank:1"};
  CHECK(fill("{step.time_ms}, {a.share_percent}, {a.size_bytes}, {a.count}", rank) == "142.0 ms, 6.1 %, 24 KiB, 161");
  CHECK(fill("{scope}: {a.late_ms} ({a.late_ms@p10} to {a.late_ms@p90})", rank) ==
        "rank 1: 17.9 ms (11.0 ms to 23.0 ms)");
  CHECK(fill("{fact:backend} {fact:torch} {a.absent_ms} {step.time_ms@p90}", rank) ==
        "gloo (not measured) (not measured) (not measured)");
  CHECK(fill("{fact:backend}[[, {step.time_ms}]][[, {a.absent_ms}]].", rank) == "gloo, 142.0 ms.");
  CHECK(fill("[[{a.absent_ms}]][[ not closed", rank) == "[[ not closed");
  CHECK(fill("{scope}", {metrics, facts, "all"}) == "all ranks");
  CHECK(fill("{scope}", {metrics, facts, "group:dp"}) == "group dp");
  CHECK(fill_if_known("{fact:where.compress}", rank) == "train.py:87 in topk_hook");
  CHECK_FALSE(fill_if_known("{fact:where.sync}", rank));
  CHECK(metrics_in("{a.b_ms} {fact:x} {scope} {a.b_ms} {a.c@p50}") == Lines{"a.b_ms", "a.c@p50"});
}

TEST_CASE("malformed placeholders are found when a rule is loaded") {
  CHECK_FALSE(malformed("no placeholder"));
  CHECK_FALSE(malformed("{a.b_ms@p50} {fact:where.compress} {scope}"));
  CHECK(malformed("{a.b_ms") == "a brace is not closed, or closes nothing");
  CHECK(malformed("{scop}") == "{scop} is neither a metric, nor {fact:NAME}, nor {scope}");
  for (const char* text : {"{a.b_ms@p99}", "{fact:}", "{}", "{A.b}", "{a.b + 1}", "{.a}"}) CHECK(malformed(text));
}

}  // namespace gradsync
