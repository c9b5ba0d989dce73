#include "src/diagnosis/verdict.h"

#include "src/diagnosis/diagnose.h"
#include "tests/unit/diagnosis/written.h"

namespace gradsync {
namespace {

Verdict builtin_verdict(const MetricSet& metrics, const Facts& facts) {
  const auto rules = builtin_rules();
  REQUIRE_MESSAGE(rules, rules.error().message());
  return verdict(*rules, diagnose(*rules, metrics, facts), metrics, facts);
}

const std::string kSaving = "[saving]\nbound = \"at most {first.saved_ms}\"\npredicted = \"p\"\nmeasured = \"m\"\n";

}  // namespace

TEST_CASE("wrong training comes before speed") {
  const Verdict said = builtin_verdict(metrics_of({{"compress.index_all_reduce_per_step", 2},
                                                   {"compress.wire_ratio_percent", 6},
                                                   {"comm.exposed_percent", 40}}),
                                       {{"compression", "topk"}, {"instrumented", "yes"}});
  CHECK(said.text.starts_with("The training itself is wrong, speed comes second. Selected entries are summed"));
  CHECK(said.sign == VerdictSign::unknown);
}

TEST_CASE("a rank that ended early") {
  const Verdict said =
      builtin_verdict(metrics_of({{"rank.ended_early", 1, "rank:1"}, {"rank.ended_early", 0, "rank:0"}}), {});
  CHECK(said.text ==
        "One rank ended before the job did (rank 1): find out why before looking at speed. The times below are "
        "those of the steps before.");
}

TEST_CASE("compression with nothing but a bound claims neither a sign nor a measurement") {
  const Verdict said = builtin_verdict(metrics_of({{"step.time_ms", 142},
                                                   {"step.count", 30},
                                                   {"sync.exposed_ms", 38.4},
                                                   {"sync.exposed_percent", 27},
                                                   {"compress.after_backward_percent", 100},
                                                   {"compress.serial_percent", 22},
                                                   {"compress.serial_ms", 31.2}}),
                                       {{"compression", "topk"},
                                        {"compression.place", "after_backward"},
                                        {"compression.started", "yes"},
                                        {"instrumented", "yes"}});
  CHECK(said.text ==
        "Synchronisation with topk compression exposes 38.4 ms of every 142.0 ms step. Compression starts when "
        "backward is already over: a fix saves at most 38.4 ms. Whether training is faster without compression "
        "was not measured.");
  CHECK(said.sign == VerdictSign::unknown);
  CHECK_FALSE(said.measured);
  CHECK(said.ms == 38.4);
}

TEST_CASE("a dense job that waits for communication") {
  const Verdict said =
      builtin_verdict(metrics_of({{"step.time_ms", 91},
                                  {"step.count", 30},
                                  {"comm.exposed_ms", 31},
                                  {"comm.exposed_percent", 34},
                                  {"sync.exposed_ms", 33}}),
                      {{"compression", "none"}, {"compression.place", "none"}, {"instrumented", "yes"}});
  CHECK(said.text ==
        "Communication exposes 31.0 ms of every 91.0 ms step; hiding or avoiding all of it saves at most 31.0 ms.");
}

namespace {

MetricSet measured_with(double low, double middle, double high, const char* name) {
  MetricSet metrics = metrics_of({{"ab.with_ms", 154},
                                  {"ab.without_ms", 61},
                                  {"ab.quadruples", 24},
                                  {"ab.with_bytes", 600000},
                                  {"ab.without_bytes", 9800000}});
  Metric metric;
  metric.name = name;
  metric.value = middle;
  metric.p10 = low;
  metric.p90 = high;
  metrics.add(metric);
  return metrics;
}

}  // namespace

TEST_CASE("a measured counterfactual has a sign, and comes before what is only a bound") {
  const Verdict costs = builtin_verdict(measured_with(91, 93, 95, "measured.no_compression.saved_ms"),
                                        {{"ab.answer", "costs"}, {"ab.one_host", "node0"}, {"instrumented", "yes"}});
  CHECK(costs.text ==
        "Compression costs you 93.0 ms of every 154.0 ms step: measured with and without the hook in the same job "
        "(91.0 ms to 95.0 ms, 24 quadruples of blocks). Without it a step takes 61.0 ms, with 9.35 MiB to send instead "
        "of "
        "586 KiB. All ranks are on one host (node0): its loopback is no network, on a slower fabric the answer may be "
        "the opposite.");
  CHECK(costs.sign == VerdictSign::costs);
  CHECK(costs.measured);
  CHECK(costs.p05 == 91);
  const Verdict saves = builtin_verdict(measured_with(-126, -124, -122, "measured.no_compression.saved_ms"),
                                        {{"ab.answer", "saves"}, {"instrumented", "yes"}});
  CHECK(saves.sign == VerdictSign::saves);
  CHECK(saves.ms == 124);
  CHECK(saves.p05 == 122);
  CHECK(saves.p95 == 126);
  CHECK(saves.text.starts_with("Compression saves you 124.0 ms of every step"));
  CHECK(saves.text.find("loopback") == std::string::npos);
}

TEST_CASE("no difference shown keeps both ends of its interval") {
  const Verdict neither = builtin_verdict(measured_with(-1.5, -0.5, 0.75, "measured.ab_difference_ms"),
                                          {{"ab.answer", "no difference shown"}, {"instrumented", "yes"}});
  CHECK(neither.sign == VerdictSign::neutral);
  CHECK(neither.ms == -0.5);
  CHECK(neither.p05 == -1.5);
  CHECK(neither.p95 == 0.75);
}

TEST_CASE("dense and compressed synchronisation one after the other") {
  const Verdict said =
      builtin_verdict(metrics_of({{"step.time_ms", 133},
                                  {"step.count", 30},
                                  {"sync.exposed_ms", 61},
                                  {"comm.dense_ratio_percent", 100},
                                  {"compress.collectives_per_step", 2}}),
                      {{"compression", "topk"}, {"compression.place", "in_step"}, {"compression.started", "yes"}});
  CHECK(said.text ==
        "The gradients are all-reduced in full and then compressed and sent again: the compression saves no "
        "byte. Together that exposes 61.0 ms of every 133.0 ms step; doing only one of the two saves at most "
        "61.0 ms.");
}

TEST_CASE("a straggler") {
  const Verdict said = builtin_verdict(metrics_of({{"step.time_ms", 126},
                                                   {"step.count", 30},
                                                   {"straggler.late_ms", 24, "rank:1"},
                                                   {"straggler.late_percent", 19, "rank:1"},
                                                   {"straggler.last_arrival_percent", 100, "rank:1"},
                                                   {"straggler.late_over_residual", 24000, "rank:1"}}),
                                       {});
  CHECK(said.text ==
        "The job waits for rank 1, which is ready for each exchange after the others. Evening the ranks out saves at "
        "most 24.0 ms of every 126.0 ms step.");
}

TEST_CASE("compression that has not started") {
  const Verdict said =
      builtin_verdict(metrics_of({{"step.time_ms", 77},
                                  {"step.count", 30},
                                  {"sync.exposed_ms", 9},
                                  {"comm.exposed_percent", 11},
                                  {"compress.steps_until_start", 960}}),
                      {{"compression", "powersgd"}, {"compression.started", "no"}, {"compression.start_step", "1000"}});
  CHECK(said.text ==
        "The powersgd compression has not started: it begins at step 1000, after the end of the recording. So far "
        "gradients travel dense, and synchronisation exposes 9.0 ms of every 77.0 ms step.");
}

TEST_CASE("too few steps") {
  const Verdict said = builtin_verdict(metrics_of({{"step.time_ms", 77},
                                                   {"step.count", 4},
                                                   {"sync.exposed_ms", 9},
                                                   {"comm.exposed_percent", 40},
                                                   {"comm.exposed_ms", 30}}),
                                       {});
  CHECK(said.text ==
        "Only 4 steps could be counted, too few for a verdict. In them synchronisation exposed 9.0 ms of every "
        "77.0 ms step.");
}

TEST_CASE("healthy needs a clean bill, not silence") {
  const Facts facts{{"compression", "none"}, {"compression.place", "none"}, {"instrumented", "yes"}};
  CHECK(builtin_verdict(metrics_of({{"step.time_ms", 77},
                                    {"step.count", 30},
                                    {"sync.exposed_ms", 6},
                                    {"comm.exposed_ms", 5},
                                    {"comm.exposed_percent", 6.5}}),
                        facts)
            .text ==
        "Nothing at warning or above in what could be judged: synchronisation exposes 6.0 ms of every 77.0 ms step.");
  const Verdict silent = builtin_verdict({}, {});
  CHECK(silent.text.starts_with("Could not judge the gradient synchronisation of this job"));
  CHECK(silent.ms == 0);
}

TEST_CASE("a job that could not be entered") {
  CHECK(builtin_verdict(metrics_of({{"step.count", 0}}),
                        {{"instrumented", "no"}, {"instrumented.reason", "python was started with -I"}})
            .text ==
        "Could not look inside this job: python was started with -I. Nothing here says that its synchronisation is "
        "healthy.");
}

TEST_CASE("a sign needs a measurement, and the number loses its own") {
  const auto rules = make_rule_set({{{"verdict.toml", kSaving + R"(
[[case]]
id   = "saves"
text = "Saves {verdict.ms} ({verdict.ms@p10} to {verdict.ms@p90})."
sign = "saves"
ms   = "measured.no_compression.saved_ms"
all  = [ { metric = "measured.no_compression.saved_ms@p90", below = "0 ms" } ]
[[case]]
id   = "rest"
text = "Unknown."
)"}}});
  REQUIRE_MESSAGE(rules, rules.error().message());
  MetricSet metrics;
  metrics.add({"measured.no_compression.saved_ms", "all", -12, 24, -14, -12, -9, "ab", {}});
  const Verdict said = verdict(*rules, {}, metrics, {});
  CHECK(said.text == "Saves 12.0 ms (9.0 ms to 14.0 ms).");
  CHECK(said.sign == VerdictSign::saves);
  CHECK(said.measured);
  CHECK((said.ms == 12 && said.p05 == 9 && said.p95 == 14));
  CHECK(verdict(*rules, {}, {}, {}).text == "Unknown.");
}

TEST_CASE("wrong verdict files are load errors") {
  const auto error_of = [](const std::string& text) {
    const auto rules = make_rule_set({{{"verdict.toml", text}}});
    REQUIRE_FALSE(rules);
    return rules.error().why;
  };
  const std::string last = "[[case]]\nid = \"z\"\ntext = \"Z\"\n";
  CHECK(error_of(last) == "saving: is missing");
  CHECK(error_of("[saving]\nbound = \"b\"\n" + last) == "predicted: is missing");
  CHECK(error_of(kSaving) == "case: the last case must have no conditions");
  CHECK(error_of(kSaving + "[[case]]\nid = \"a\"\ntext = \"A\"\nsign = \"costs\"\nms = \"sync.exposed_ms\"\n" + last) ==
        "sign: is only for what was measured");
  CHECK(
      error_of(kSaving + "[[case]]\nid = \"a\"\ntext = \"{A}\"\n" + last).starts_with("text: {A} is neither a metric"));
  CHECK(error_of(kSaving + "[[case]]\nid = \"a\"\ntext = \"A\"\nsign = \"bad\"\n" + last) ==
        "sign: 'bad' is none of its words");
}

}  // namespace gradsync
